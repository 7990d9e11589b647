import Belvo
import MerchantModel

/// How things stand between this process and Belvo, for metrics.
package struct GateSnapshot: Sendable, Equatable {
    /// The key of one counter.
    struct Key: Hashable, Sendable {
        let call: Call
        let outcome: CallOutcome.Kind
    }

    /// Calls since the start, by call and outcome; those that were kept here among them.
    let counts: [Key: Int]
    /// Calls a second that may leave: as many as are set, fewer while Belvo grants fewer; 0 is no limit.
    package let rate: Double
    package let circuit: CircuitBreaker.State
    /// How often the circuit has opened.
    package let openings: Int
    /// Calls that have left and are not answered.
    package let underWay: PerCaller<Int>
    /// Calls that wait for their turn.
    package let waiting: PerCaller<Int>
    /// Answers 401 and 403 from Belvo.
    package let denials: Int
    /// Whether Belvo rejects our credentials.
    package let isLockedOut: Bool
    /// How long the silence still lasts that Belvo asked for.
    package let quiet: Duration?
    /// Whether what strangers' calls have come to keeps further ones here.
    package let isShutForStrangers: Bool
    /// How long those that left took until they ended, however they ended.
    package let latencies: [Call: LatencyHistogram.Reading]

    /// Calls of one kind that ended so.
    package func count(_ call: Call, _ outcome: CallOutcome.Kind) -> Int {
        counts[Key(call: call, outcome: outcome)] ?? 0
    }

    /// Calls of every kind that ended so.
    func count(_ outcome: CallOutcome.Kind) -> Int {
        counts.reduce(0) { $0 + ($1.key.outcome == outcome ? $1.value : 0) }
    }
}

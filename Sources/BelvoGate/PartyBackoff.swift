import Belvo
import Transport

/// The silence that Belvo has asked one party for, with a handed-in clock.
///
/// A 429 to a call that carries a user's text may be the answer to that text: any made-up code may be answered by one.
/// So it silences that party's calls of that kind, and all calls only when another party has been told the same
/// meanwhile.
struct PartyBackoff: Sendable {
    /// Silences that are kept at a time. A 429 past it silences all.
    static let countMax = 1_024

    private struct Key: Hashable {
        let party: UInt64
        let call: Call
    }

    private var silences: [Key: ThrottleBackoff] = [:]

    /// How long this party's calls of this kind still rest.
    func rest(_ call: Call, of party: UInt64, at now: Monotonic) -> Duration? {
        guard party != 0, !silences.isEmpty else { return nil }
        return silences[Key(party: party, call: call)]?.rest(at: now)
    }

    /// Takes note of a 429; true when it concerns this party alone.
    mutating func keeps(
        _ retryAfter: Duration?, _ call: Call, of party: UInt64, at now: Monotonic, jitter: Double
    ) -> Bool {
        guard party != 0, call.kind == .creating || call.kind == .moving else { return false }
        let key = Key(party: party, call: call)
        silences = silences.filter { $0.value.rest(at: now) != nil || $0.key == key }
        guard silences.keys.allSatisfy({ $0.party == party }), silences.count < Self.countMax else { return false }
        _ = silences[key, default: ThrottleBackoff()].note(retryAfter: retryAfter, at: now, jitter: jitter)
        return true
    }
}

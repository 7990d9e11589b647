import Payments
import Synchronization

/// How many enrollments and payments entered each state, and why those that failed did: the funnel of operators.
///
/// Counted by the process that made the change, once it is committed, with two additions and no lock. What another
/// process changes is counted there, so the sum over all processes is the truth.
package final class FunnelCounts: Sendable {

    package init() {}
    /// A kind of record that is counted, as the label `record` shows it.
    package enum Kind: String, Sendable, CaseIterable {
        case enrollments, payments

        /// The states that it can enter, as the history calls them.
        package var states: [String] {
            switch self {
            case .enrollments: Enrollment.State.allCases.map(\.rawValue)
            case .payments: Payment.State.allCases.map(\.rawValue) + ["in_doubt"]
            }
        }
    }

    /// A failure's code as the label shows it: those that are known, and one word for all others, so that no client can
    /// make up series without end.
    private struct Code: Sendable {
        let name: String
        let reason: RetryReason
    }

    private static let otherCode = "other"
    private static let codes: [Code] =
        RetryReason.allCases.flatMap { reason in
            reason.failureCodes.map { Code(name: $0, reason: reason) }
        } + [Code(name: otherCode, reason: RetryReason(failureCode: nil))]
    private static let codePlaces = Dictionary(
        uniqueKeysWithValues: codes.enumerated().map { ($1.name, $0) })

    private final class Count: Sendable {
        let value = Atomic<UInt64>(0)
    }

    private struct Counts: Sendable {
        let states: [String: Count]
        let failures: [Count]

        init(_ kind: Kind) {
            states = Dictionary(uniqueKeysWithValues: kind.states.map { ($0, Count()) })
            failures = FunnelCounts.codes.map { _ in Count() }
        }

        func count(_ state: String, _ failure: Failure?) {
            states[state]?.value.wrappingAdd(1, ordering: .relaxed)
            guard let failure else { return }
            let known = FunnelCounts.codePlaces[failure.code.lowercased()]
            failures[known ?? FunnelCounts.codes.count - 1].value.wrappingAdd(1, ordering: .relaxed)
        }
    }

    private let enrollments = Counts(.enrollments)
    private let payments = Counts(.payments)

    /// Counts the state that an enrollment has just entered.
    func count(_ enrollment: Enrollment) {
        enrollments.count(
            enrollment.state.rawValue, enrollment.state == .failed ? enrollment.failure : nil)
    }

    /// Counts the state that a payment has just entered.
    func count(_ payment: Payment) {
        payments.count(payment.historyState, payment.state == .failed ? payment.failure : nil)
    }

    /// How many records of the kind have entered the state so far.
    package func entries(_ kind: Kind, into state: String) -> UInt64 {
        Self.read(counts(of: kind).states[state])
    }

    /// How many have failed so far, by their code and what it says about trying again.
    package func failures(_ kind: Kind) -> [(code: String, reason: RetryReason, count: UInt64)] {
        zip(Self.codes, counts(of: kind).failures).map { ($0.name, $0.reason, Self.read($1)) }
    }

    private func counts(of kind: Kind) -> Counts { kind == .enrollments ? enrollments : payments }

    private static func read(_ count: Count?) -> UInt64 { count?.value.load(ordering: .relaxed) ?? 0 }
}

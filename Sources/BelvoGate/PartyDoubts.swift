import Belvo
import Transport

/// Which parties' failures say nothing of Belvo as a whole, with a handed-in clock.
///
/// Whatever one user asks for may be why Belvo does not answer, or refuses. Where others are let in while it fails,
/// or since it began to fail, it is that party's own trouble: it counts towards no conclusion about all, however many
/// such parties there are. And of parties that were never let in there may be any number: while others are let in, what
/// those are answered counts for nothing either.
struct PartyDoubts: Sendable {
    /// Failures that are remembered at a time. Past it each counts as the party's first.
    private static let countMax = 4_096

    /// How long after its last failure a party is remembered.
    let memory: Duration
    private var failures: [UInt64: (first: Monotonic, last: Monotonic)] = [:]
    /// When calls of a party began to fail of which none was let in since.
    private var failingSince: [UInt64: Monotonic] = [:]
    /// Parties whose calls were let in, and when last.
    private var known: [UInt64: Monotonic] = [:]
    private static let knownMax = 16_384
    /// For how long a call that was let in says that what others are answered who are not known may be their own.
    private static let newcomersDoubt = Duration.seconds(10)
    /// The latest call that was let in, and the latest one of another party than that.
    private var admission: (party: UInt64, moment: Monotonic)?
    private var admissionOfOther: (party: UInt64, moment: Monotonic)?

    init(memory: Duration) {
        self.memory = memory
    }

    /// Takes note of a failure of this party's call that began then; true when it may speak of Belvo.
    /// - Parameter isSameForAll: whether the call says the same for all parties.
    mutating func speaksOfAll(
        _ party: UInt64, isSameForAll: Bool = false, began: Monotonic, at now: Monotonic
    ) -> Bool {
        guard party != 0 else { return true }
        let first = isFailing(party, at: now) ? failures[party]?.first : nil
        if failures.count >= Self.countMax {
            failures = failures.filter { now < $0.value.last + memory }
            failingSince = failingSince.filter { failures[$0.key] != nil }
        }
        let since = first.map { min($0, began) } ?? began
        if failures.count < Self.countMax || first != nil {
            failures[party] = (since, now)
            if failingSince[party] == nil || first == nil { failingSince[party] = began }
        }
        let isNewcomer = !isSameForAll && !isKnown(party)
        return !wasAnotherLetIn(
            than: party, since: isNewcomer ? min(since, now + (.zero - Self.newcomersDoubt)) : since)
    }

    private func wasAnotherLetIn(than party: UInt64, since moment: Monotonic) -> Bool {
        [admission, admissionOfOther].contains { one in
            one.map { $0.party != party && moment < $0.moment } ?? false
        }
    }

    /// Whether calls of others were let in since this party's began to fail, after its last one that was let in.
    func isContradicted(_ party: UInt64) -> Bool {
        failingSince[party].map { wasAnotherLetIn(than: party, since: $0) } ?? false
    }

    /// Whether a call of this party's has failed lately.
    func isFailing(_ party: UInt64, at now: Monotonic) -> Bool {
        failures[party].map { now < $0.last + memory } ?? false
    }

    /// Whether a call of this party's was let in, as far as is remembered.
    func isKnown(_ party: UInt64) -> Bool { known[party] != nil }

    /// A party's call was let in.
    mutating func noteAdmitted(_ party: UInt64, at now: Monotonic) {
        if party != 0 {
            failingSince[party] = nil
            known[party] = now
            if known.count > Self.knownMax { forgetOldest() }
        }
        if let admission, admission.party != party { admissionOfOther = admission }
        admission = (party, now)
    }

    private mutating func forgetOldest() {
        let limit = known.values.sorted()[Self.knownMax / 4]
        known = known.filter { $0.value > limit }
    }
}

import MerchantModel
import Payments
import Synchronization

/// How many requests may be in flight at a time: what `ServerConfiguration` does not know, because it knows neither
/// users nor long polls. docs/limits.md has it all in one table.
package struct InFlightLimits: Sendable, Equatable {
    /// Requests in all, long polls that wait and probes of `/livez` and `/readyz` not counted: 503 past it.
    ///
    /// Each holds memory and a place in the lines for the database and Belvo. A request without a place is refused at
    /// once, while those that have one are answered in time.
    package var requestsMax = 2_048

    /// Requests of one user, long polls that wait included, each until its answer has left; 0 is no limit: 429 past it.
    ///
    /// An app asks for a few things at a time. One that asks for hundreds must not keep others waiting.
    package var requestsPerUserMax = 32

    /// Long polls that wait: 503 past it, before anything is read for them.
    ///
    /// They cost little, at most 2 KiB each, but all of them may be woken at once.
    package var longPollsMax = 10_000

    package init() {}
}

/// The requests in flight, in all and of each user: past the limits, new ones are refused with `Retry-After`.
///
/// A request costs an addition when it begins and one when it ends, and a user's two readings of a table under a lock
/// that is seldom met.
package final class InFlightLimit: Sendable {
    private let limits: InFlightLimits
    private let count = Atomic(0)
    private let shards: [Shard]

    private static let shardCount = 32

    package init(_ limits: InFlightLimits) {
        self.limits = limits
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    /// Counts a request, until `leave()`. Throws when there are too many.
    func enter() throws(AccessRefusal) {
        let present = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard present > limits.requestsMax else { return }
        leave()
        throw .busy
    }

    func leave() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Counts a user's request, for as long as the permit is kept. Throws when the user has too many; nil without a
    /// limit.
    func permit(for user: UserSubject) throws(AccessRefusal) -> InFlightPermit? {
        guard limits.requestsPerUserMax > 0 else { return nil }
        let key = seededHash(of: user)
        let isTaken = shard(of: key).counts.withLock { counts in
            let present = counts[key, default: 0]
            guard present < limits.requestsPerUserMax else { return false }
            counts[key] = present + 1
            return true
        }
        guard isTaken else { throw .tooManyOfUserUnderWay }
        return InFlightPermit(key, of: self)
    }

    fileprivate func giveBack(_ key: UInt64) {
        shard(of: key).counts.withLock { counts in
            guard let present = counts[key] else { return }
            counts[key] = present > 1 ? present - 1 : nil
        }
    }

    /// Throws when as many long polls wait as may.
    func admitLongPoll(besides waiting: Int, retryAfter pause: Duration) throws(AccessRefusal) {
        guard waiting >= limits.longPollsMax else { return }
        throw .tooManyLongPolls(retryAfter: pause)
    }

    private func shard(of key: UInt64) -> Shard { shards[Int((key >> 32) % UInt64(Self.shardCount))] }

    /// A part of the users under a lock of its own, so that the loops seldom meet at one.
    private final class Shard: Sendable {
        let counts = Mutex<[UInt64: Int32]>([:])
    }
}

/// A user's request among the others in flight; releasing it gives its place back.
///
/// Its connection keeps it until the answer has left: a client that does not read uses up its own share only.
final class InFlightPermit: Sendable {
    private let key: UInt64
    private let limit: InFlightLimit

    fileprivate init(_ key: UInt64, of limit: InFlightLimit) {
        self.key = key
        self.limit = limit
    }

    deinit {
        limit.giveBack(key)
    }
}

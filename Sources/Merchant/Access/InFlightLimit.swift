import HTTP
import Payments
import Synchronization

/// The requests that are under way, in all and of each user: past the bounds, those that come are told to come again.
///
/// A request costs an addition when it begins and one when it ends, and a user's two looks at a table under a lock that
/// is seldom met.
final class InFlightLimit: Sendable {
    private let limits: InFlightLimits
    private let count = Atomic(0)
    private let shards: [Shard]

    private static let shardCount = 32

    init(_ limits: InFlightLimits) {
        self.limits = limits
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    /// Counts a request, until `leave()`. Throws when there are too many.
    func enter() throws(APIError) {
        let present = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard present > limits.requestsMax else { return }
        leave()
        throw .tooMuchUnderWay
    }

    func leave() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Counts a user's request, for as long as the permit is kept. Throws when the user has too many; nil without a
    /// limit.
    func permit(for user: UserSubject) throws(APIError) -> InFlightPermit? {
        guard limits.requestsPerUserMax > 0 else { return nil }
        let key = seededHash(of: user)
        let isTaken = shard(of: key).counts.withLock { counts in
            let present = counts[key, default: 0]
            guard present < limits.requestsPerUserMax else { return false }
            counts[key] = present + 1
            return true
        }
        guard isTaken else { throw .tooMuchUnderWayForUser }
        return InFlightPermit(key, of: self)
    }

    fileprivate func giveBack(_ key: UInt64) {
        shard(of: key).counts.withLock { counts in
            guard let present = counts[key] else { return }
            counts[key] = present > 1 ? present - 1 : nil
        }
    }

    /// Throws when as many long polls wait as may.
    func admitLongPoll(besides waiting: Int, retryAfterSeconds: Int) throws(APIError) {
        guard waiting >= limits.longPollsMax else { return }
        var error = APIError(.serviceUnavailable, .busy, "Too many requests wait for changes. Ask without waiting.")
        error.retryAfterSeconds = retryAfterSeconds
        throw error
    }

    private func shard(of key: UInt64) -> Shard { shards[Int((key >> 32) % UInt64(Self.shardCount))] }

    /// A part of the users under a lock of its own, so that the loops seldom meet at one.
    private final class Shard: Sendable {
        let counts = Mutex<[UInt64: Int32]>([:])
    }
}

/// A user's request among the others that are under way, given back by letting go of it.
///
/// Its connection keeps it until the answer has left: who does not read takes up his own share and nobody else's.
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

extension APIError {
    fileprivate static var tooMuchUnderWay: APIError {
        var error = APIError(.serviceUnavailable, .busy, "The server has as much to do as it can.")
        error.retryAfterSeconds = 1
        return error
    }

    fileprivate static var tooMuchUnderWayForUser: APIError {
        var error = APIError(.tooManyRequests, .rateLimited, "This user has too many requests under way.")
        error.retryAfterSeconds = 1
        return error
    }
}

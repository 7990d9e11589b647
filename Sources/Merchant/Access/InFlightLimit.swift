import HTTP
import Payments
import Synchronization

/// The requests that are under way, in all and of each user: past the bounds, those that come are told to come again.
///
/// A request costs an addition when it begins and one when it ends, and a user's two looks at a table under a lock that
/// is seldom met.
final class Crowd: Sendable {
    /// A user's request among the others. It is given back once.
    struct Place: Sendable {
        fileprivate let key: UInt64
    }

    private let limits: CrowdLimits
    private let count = Atomic(0)
    private let shards: [Shard]

    private static let shardCount = 32

    init(_ limits: CrowdLimits) {
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

    /// Counts a user's request, until the place is given back. Throws when the user has too many; nil without a limit.
    func takePlace(for user: UserSubject) throws(APIError) -> Place? {
        guard limits.requestsPerUserMax > 0 else { return nil }
        // Seeded anew in every process, so that nobody can choose whom to share a number with.
        var hasher = Hasher()
        hasher.combine(user)
        let key = UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
        let isTaken = shard(of: key).counts.withLock { counts in
            let present = counts[key, default: 0]
            guard present < limits.requestsPerUserMax else { return false }
            counts[key] = present + 1
            return true
        }
        guard isTaken else { throw .tooMuchUnderWayForUser }
        return Place(key: key)
    }

    func giveBack(_ place: Place) {
        shard(of: place.key).counts.withLock { counts in
            guard let present = counts[place.key] else { return }
            counts[place.key] = present > 1 ? present - 1 : nil
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

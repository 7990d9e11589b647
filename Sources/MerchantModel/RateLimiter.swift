import Synchronization
import Transport

/// How often each of many may do something: so many times a second, and a burst.
///
/// Each has a token bucket, kept as the one moment at which it will be full again (the generic cell rate algorithm,
/// ITU-T I.371). A full bucket says no more than none at all, so it is forgotten, and every bucket is full a burst's
/// time after its last use: what is kept is never more than who came within that time.
package final class RateLimiter: Sendable {
    private let shards: [Shard]

    /// The most buckets that are kept, 16 bytes each: more than one machine can answer different users in two seconds.
    package static let countMax = 131_072
    static let shardCount = 32

    /// Takes a rate from 1 to 1,000,000, and the size of a burst: twice the rate unless given. Nil
    /// for 0, which is no limit.
    package convenience init?(perSecond rate: Int, burst: Int? = nil, countMax: Int = RateLimiter.countMax) {
        guard rate > 0 else { return nil }
        let interval = Duration.nanoseconds(1_000_000_000 / Int64(rate))
        self.init(interval: interval, burst: burst ?? 2 * rate, countMax: countMax)
    }

    /// Takes the time after which one more is allowed, a nanosecond at least, and the size of a burst.
    package init(interval: Duration, burst: Int, countMax: Int = RateLimiter.countMax) {
        let interval = interval.wholeNanoseconds
        let window = Int64(burst) * interval
        shards = (0..<RateLimiter.shardCount).map { _ in
            Shard(TokenBuckets(interval: interval, window: window, countMax: countMax / RateLimiter.shardCount))
        }
    }

    /// Takes one token out of the subscriber's bucket; if it is empty, gives the time until there is one.
    ///
    /// A refusal costs nothing: a request after that time gets in.
    package func take(for someone: some Hashable, at now: Monotonic) -> Duration? {
        let key = seededHash(of: someone)
        return shard(of: key).buckets.withLock { $0.take(key, at: now.nanoseconds) }.map { .nanoseconds($0) }
    }

    /// The time until the subscriber has a token, which is not taken; nil where there is one now.
    package func wait(for someone: some Hashable, at now: Monotonic) -> Duration? {
        let key = seededHash(of: someone)
        return shard(of: key).buckets.withLock { $0.wait(key, at: now.nanoseconds) }.map { .nanoseconds($0) }
    }

    private func shard(of key: UInt64) -> Shard { shards[Int((key >> 32) % UInt64(RateLimiter.shardCount))] }

    /// A part of the buckets under a lock of its own, so that the loops seldom meet at one.
    private final class Shard: Sendable {
        let buckets: Mutex<TokenBuckets>

        init(_ buckets: consuming TokenBuckets) {
            self.buckets = Mutex(buckets)
        }
    }
}

/// A number for the subscriber, seeded anew in every process: no client can choose whom to share one with. That two do
/// by chance is less likely than one in a billion.
package func seededHash(of someone: some Hashable) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(someone)
    return UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
}

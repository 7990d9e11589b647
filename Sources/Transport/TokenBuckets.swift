/// Token buckets by key. Times are nanoseconds on a monotonic clock.
package struct TokenBuckets: Sendable {
    /// How long one token takes to come back.
    private let interval: Int64
    /// How long a whole bucket takes to fill.
    private let window: Int64
    private let countMax: Int
    /// When each bucket will be full.
    private var fullAt: [UInt64: Int64] = [:]
    /// The number of buckets past which full ones are removed.
    private var roomFor: Int

    private static let roomMin = 64

    package init(interval: Int64, window: Int64, countMax: Int) {
        self.interval = interval
        self.window = window
        self.countMax = max(countMax, 1)
        roomFor = min(TokenBuckets.roomMin, self.countMax)
    }

    /// - Parameter rate: tokens a second of one key, at least 1; a whole bucket has twice as many.
    package init(rate: Int, countMax: Int) {
        let interval = 1_000_000_000 / Int64(rate)
        self.init(interval: interval, window: 2 * Int64(rate) * interval, countMax: countMax)
    }

    var count: Int { fullAt.count }

    /// Takes a token, or gives the time until there is one.
    package mutating func take(_ key: UInt64, at now: Int64) -> Int64? {
        let known = fullAt[key]
        let full = max(known ?? now, now) + interval
        guard full - now <= window else { return full - now - window }
        if known == nil, fullAt.count >= roomFor { makeRoom(at: now) }
        fullAt[key] = full
        return nil
    }

    /// The time until there is a token; nil where there is one.
    package func wait(_ key: UInt64, at now: Int64) -> Int64? {
        let full = max(fullAt[key] ?? now, now) + interval
        return full - now <= window ? nil : full - now - window
    }

    /// Forgets the full buckets, which are all but the present users'; only past the bound also others.
    private mutating func makeRoom(at now: Int64) {
        fullAt = fullAt.filter { $0.value > now }
        // The fullest quarter is evicted. So inventing names does not reset a drained bucket, and eviction is rare.
        if fullAt.count >= countMax {
            let limit = fullAt.values.sorted()[countMax / 4]
            fullAt = fullAt.filter { $0.value > limit }
        }
        roomFor = min(max(TokenBuckets.roomMin, 2 * fullAt.count), countMax)
    }
}

import Testing

@testable import MerchantModel
@testable import Transport

/// Each key gets its rate, twice as much at once, and no more; however many keys there are.
struct RateLimiterTests {
    private let start = Monotonic(nanoseconds: 5_000_000_000)

    @Test(arguments: [1, 3, 20, 1_000_000]) func `twice the rate gets in at once, then the rate`(
        rate: Int
    ) throws {
        let limit = try #require(RateLimiter(perSecond: rate))
        var granted = 0
        while limit.take(for: "ana", at: start) == nil { granted += 1 }
        #expect(granted == 2 * rate)
        let wait = try #require(limit.take(for: "ana", at: start))
        #expect(wait == .nanoseconds(1_000_000_000 / Int64(rate)))
        // Asking again before the time changes nothing, and has cost nothing when the time has come.
        #expect(limit.take(for: "ana", at: start + wait - .nanoseconds(1)) == .nanoseconds(1))
        #expect(limit.take(for: "ana", at: start + wait) == nil)
        #expect(limit.take(for: "ana", at: start + wait) == wait)
    }

    @Test func `a long pause saves up no more than twice the rate`() throws {
        let limit = try #require(RateLimiter(perSecond: 2))
        for pause in [Duration.seconds(2), .seconds(3_600)] {
            let later = start + pause
            for _ in 0..<4 { #expect(limit.take(for: "ana", at: later) == nil) }
            #expect(limit.take(for: "ana", at: later) != nil)
        }
    }

    @Test func `a burst may be another than twice the rate`() throws {
        let limit = try #require(RateLimiter(perSecond: 1, burst: 5))
        for _ in 0..<5 { #expect(limit.take(for: "ana", at: start) == nil) }
        #expect(limit.take(for: "ana", at: start) == .seconds(1))
    }

    @Test func `whoever asks how long to wait has taken nothing`() throws {
        let limit = try #require(RateLimiter(perSecond: 1))
        for _ in 0..<9 { #expect(limit.wait(for: "ana", at: start) == nil) }
        for _ in 0..<2 { #expect(limit.take(for: "ana", at: start) == nil) }
        #expect(limit.wait(for: "ana", at: start) == .seconds(1))
        #expect(limit.wait(for: "ana", at: start + .seconds(1)) == nil)
    }

    @Test func `nobody pays for another`() throws {
        let limit = try #require(RateLimiter(perSecond: 1))
        while limit.take(for: "ana", at: start) == nil {}
        #expect(limit.take(for: "bia", at: start) == nil)
    }

    @Test func `no rate is no limit`() {
        #expect(RateLimiter(perSecond: 0) == nil)
    }

    @Test func `a loop whose clock was read a little earlier is not let in for it`() throws {
        let limit = try #require(RateLimiter(perSecond: 1))
        for _ in 0..<2 { #expect(limit.take(for: "ana", at: start) == nil) }
        #expect(limit.take(for: "ana", at: start - .milliseconds(1)) == .milliseconds(1_001))
    }

    @Test func `full buckets are forgotten`() {
        var buckets = TokenBuckets(interval: 100, window: 400, countMax: 1_000_000)
        var countMax = 0
        for number in 0..<100_000 {
            _ = buckets.take(UInt64(number), at: Int64(number))
            countMax = max(countMax, buckets.count)
        }
        // A hundred are not full at any time; as many again may wait to be looked through.
        #expect(countMax <= 202)
    }

    @Test func `a crowd at one moment is bounded, and wins nobody a new bucket`() {
        var buckets = TokenBuckets(interval: 100, window: 400, countMax: 1_000)
        for _ in 0..<4 { #expect(buckets.take(7, at: 0) == nil) }
        var countMax = 0
        for number in 1_000..<100_000 {
            _ = buckets.take(UInt64(number), at: 0)
            countMax = max(countMax, buckets.count)
        }
        #expect(countMax == 1_000)
        #expect(buckets.take(7, at: 0) == 100)
        #expect(buckets.take(7, at: 99) == 1)
    }
}

extension Monotonic {
    fileprivate static func - (moment: Monotonic, duration: Duration) -> Monotonic {
        Monotonic(nanoseconds: moment.nanoseconds - duration.wholeNanoseconds)
    }
}

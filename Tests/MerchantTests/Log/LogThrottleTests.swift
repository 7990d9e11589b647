import Logging
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer

/// However often something is logged, the log grows by so many lines a second.
@Suite struct LogThrottleTests {
    private let clock = HandClock()

    private func throttle() -> LogThrottle { LogThrottle(now: clock.intervals.now) }

    @Test func `a burst passes, then so many a second, and the next line tells of the others`() {
        let throttle = throttle()
        let passed = (0..<150).count { _ in throttle.admit("a") != nil }
        #expect(passed == 100)
        clock.advance(by: .milliseconds(100))
        #expect(throttle.admit("a") == 50)
        #expect(throttle.admit("a") == nil)
        clock.advance(by: .seconds(1))
        #expect(throttle.admit("a") == 1)
        #expect(throttle.admit("a") == 0)
        #expect(throttle.leftOut == 51)
    }

    @Test func `one kind of event hides no other`() {
        let throttle = throttle()
        while throttle.admit("a") != nil {}
        #expect(throttle.admit("b") == 0)
    }

    @Test func `what no further line tells of is told by itself, once`() {
        let throttle = throttle()
        while throttle.admit("a") != nil {}
        while throttle.admit("b") != nil {}
        _ = throttle.admit("b")
        #expect(throttle.takeLeftOut().map { "\($0.event) \($0.lines)" } == ["a 1", "b 2"])
        #expect(throttle.takeLeftOut().isEmpty)
    }

    @Test func `names without end are one, and bounded`() {
        let throttle = throttle()
        let passed = (0..<5_000).count { throttle.admit("name \($0)") != nil }
        #expect(passed == LogThrottle.eventsMax + Int(LogThrottle.rate.burst))
    }

    @Test func `below info nothing is left out`() {
        let log = LogRecorder()
        let logger = log.logger.throttled(by: throttle())
        for _ in 0..<300 { logger.debug("a") }
        for _ in 0..<300 { logger.info("b") }
        #expect(log.all.count == 400)
    }
}

import MerchantModel
import TestSupport
import Testing
import Transport

@testable import MerchantAPI

/// One reading at a time, for all clients that ask.
@Suite(.timeLimit(.minutes(1))) struct SharedReadingTests {
    @Test func `those who ask while a reading is made wait for its outcome`() async {
        let clock = HandClock()
        let (begun, mayEnd) = (Gate(), Gate())
        let count = Box(0)
        let reading = SharedReading(now: clock.intervals.now) {
            count.update { $0 += 1 }
            begun.open()
            await mayEnd.pass()
            return count.value == 1
        }
        async let first = reading.value()
        await begun.pass()
        let others = (0..<50).map { _ in Task { await reading.value() } }
        mayEnd.open()
        #expect(await first)
        for other in others { #expect(await other.value) }
        #expect(count.value == 1)
        clock.advance(by: SharedReading.age)
        #expect(await !reading.value())
        #expect(count.value == 2)
    }
}

import Testing
import Transport

@testable import BelvoGate

/// The effect of 429 on other calls.
@Suite struct ThrottleBackoffTests {
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    @Test func `it lasts as long as Belvo asks for, and never shorter`() {
        var quiet = ThrottleBackoff()
        let length = quiet.note(retryAfter: .seconds(7), at: at(0), jitter: 0)
        #expect(length == .seconds(7))
        #expect(quiet.rest(at: at(6)) == .seconds(1))
        // A shorter one that comes while it lasts does not cut it, and is no news.
        let second = quiet.note(retryAfter: .seconds(1), at: at(1), jitter: 0)
        #expect(second == nil)
        #expect(quiet.rest(at: at(6)) == .seconds(1))
        #expect(quiet.rest(at: at(7)) == nil)
    }

    @Test func `jitter lengthens it by a quarter at most`() {
        var quiet = ThrottleBackoff()
        #expect(quiet.note(retryAfter: .seconds(8), at: at(0), jitter: 1) == .seconds(10))
    }

    @Test func `where Belvo does not say, each 429 after a silence doubles the next, up to a minute`() {
        var quiet = ThrottleBackoff()
        var moment = 0.0
        for pause in [2.0, 4, 8, 16, 32, 60, 60] {
            #expect(quiet.note(retryAfter: nil, at: at(moment), jitter: 0) == .seconds(pause))
            // What was under way together counts once.
            #expect(quiet.note(retryAfter: nil, at: at(moment), jitter: 0) == nil)
            moment += 120
        }
        quiet.noteAdmitted(at: at(moment))
        #expect(quiet.note(retryAfter: nil, at: at(moment), jitter: 0) == .seconds(2))
    }
}

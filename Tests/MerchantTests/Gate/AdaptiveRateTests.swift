import MerchantModel
import Testing
import Transport

@testable import BelvoGate

/// The rate of calls while Belvo grants less than is set.
@Suite struct AdaptiveRateTests {
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    /// As many calls as may leave, five of each user while ninety-six others make theirs, to a Belvo that grants so
    /// many a second, from some moment until another one; gives the calls and the 429s of the last ten seconds.
    private func play(
        _ granted: Int, from begin: Int = 0, to end: Int = .max, rate: Int, seconds: Int
    ) -> (calls: Int, refused: Int) {
        var ours = CallLimiter(rate: rate, callsMax: 1_000)
        var belvos = CallLimiter(rate: granted, callsMax: 1_000)
        var (call, calls, refused) = (0, 0, 0)
        for tick in 0..<seconds * 100 {
            let now = at(Double(tick) / 100)
            while ours.take(for: .person, at: now) {
                ours.finish(.person)
                call += 1
                let user = UInt64(1 + call / 485 * 97 + call % 97)
                let hasLimit = (begin * 100..<min(end, seconds) * 100).contains(tick)
                let isGranted = belvos.take(for: .person, at: now) || !hasLimit
                if isGranted, hasLimit { belvos.finish(.person) }
                _ = ours.learn(from: isGranted ? .answered : .throttled, of: user, at: now)
                guard tick >= (seconds - 10) * 100 else { continue }
                calls += 1
                if !isGranted { refused += 1 }
            }
        }
        return (calls, refused)
    }

    @Test func `where Belvo grants less than is set as many leave as it grants, and few are refused`() {
        let (calls, refused) = play(30, rate: 50, seconds: 60)
        #expect((270...340).contains(calls), "\(calls)")
        #expect(refused * 8 < calls, "\(refused) of \(calls)")
    }

    @Test func `where Belvo grants almost nothing half of what is set leaves all the same`() {
        #expect((250...285).contains(play(5, rate: 50, seconds: 60).calls))
    }

    @Test func `a hiccup of three seconds changes nothing, and one of ten is over half a minute after it`() {
        #expect(play(10, from: 20, to: 23, rate: 50, seconds: 33).calls >= 499)
        #expect(play(10, from: 20, to: 30, rate: 50, seconds: 65).calls >= 499)
    }

    @Test func `users whom Belvo refuses each call, or who are few among the others, slow nobody else`() {
        var limiter = CallLimiter(rate: 50, callsMax: 64)
        var slowed = 0
        func hear(_ outcome: CallOutcome.Kind, of user: Int, at now: Monotonic) {
            if limiter.learn(from: outcome, of: UInt64(user), at: now) { slowed += 1 }
        }
        for user in 1...20 { hear(.answered, of: user, at: at(0)) }
        for tick in 0..<3_000 {
            let now = at(Double(tick) / 100)
            // Twenty users are let in; one hundred never are, and three now and then.
            hear(.answered, of: 1 + tick % 20, at: now)
            hear(.throttled, of: 100 + tick % 100, at: now)
            hear(tick % 2 == 0 ? .answered : .throttled, of: 30 + tick / 2 % 3, at: now)
        }
        #expect(slowed == 0)
        #expect(limiter.rate(at: at(30)) == 50)
    }

    @Test func `a lowered rate is raised again while few new users among others are refused`() {
        var limiter = CallLimiter(rate: 50, callsMax: 64)
        func hear(_ outcome: CallOutcome.Kind, of user: Int, at now: Monotonic) {
            _ = limiter.learn(from: outcome, of: UInt64(user), at: now)
        }
        func refuseNew(_ user: Int, at now: Monotonic) {
            hear(.answered, of: user, at: now)
            hear(.throttled, of: user, at: now + .seconds(1.5))
        }
        for tick in 0..<60 { refuseNew(100 + tick, at: at(Double(tick) / 10)) }
        #expect(limiter.rate(at: at(6)) < 50)
        for tick in 0..<3_000 {
            let now = at(6 + Double(tick) / 100)
            hear(.answered, of: 1 + tick % 20, at: now)
            if tick % 150 == 0 { refuseNew(1_000 + tick, at: now) }
        }
        #expect(limiter.rate(at: at(36)) == 50)
    }

    @Test func `users whom Belvo allows one call at a time slow nobody`() {
        var limiter = CallLimiter(rate: 50, callsMax: 64)
        for user in 1...1_000 as ClosedRange<UInt64> {
            let now = at(Double(user) / 20)
            _ = limiter.learn(from: .answered, of: user, at: now)
            _ = limiter.learn(from: .throttled, of: user, at: now + .milliseconds(100))
        }
        #expect(limiter.rate(at: at(51)) == 50)
    }

    @Test func `without a limit there is nothing to lower`() {
        var limiter = CallLimiter(rate: 0, callsMax: 64)
        for user in 1...3 as ClosedRange<UInt64> { _ = limiter.learn(from: .answered, of: user, at: at(0)) }
        let slowed = (1...3 as ClosedRange<UInt64>).map { limiter.learn(from: .throttled, of: $0, at: at(0)) }
        #expect(slowed == [false, false, false])
        #expect(limiter.rate(at: at(0)) == 0)
    }
}

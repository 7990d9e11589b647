import MerchantModel
import Testing
import Transport

@testable import BelvoGate

/// The rate of calls while Belvo grants less than is set.
@Suite struct AdaptiveRateTests {
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    /// Calls of so many users in turn, as many as may leave, to a Belvo that grants so many a second; gives the calls
    /// and the 429s of the last ten of the seconds.
    private func play(_ granted: Int, users: UInt64, rate: Int, seconds: Int) -> (calls: Int, refused: Int) {
        var ours = CallLimiter(rate: rate, callsMax: 1_000)
        var belvos = CallLimiter(rate: granted, callsMax: 1_000)
        var (user, calls, refused): (UInt64, Int, Int) = (0, 0, 0)
        for tick in 0..<seconds * 100 {
            let now = at(Double(tick) / 100)
            while ours.take(for: .person, at: now) {
                ours.finish(.person)
                user = user % users + 1
                let isGranted = belvos.take(for: .person, at: now)
                if isGranted { belvos.finish(.person) }
                _ = ours.learn(from: isGranted ? .answered : .throttled, of: user, at: now)
                guard tick >= (seconds - 10) * 100 else { continue }
                calls += 1
                if !isGranted { refused += 1 }
            }
        }
        return (calls, refused)
    }

    @Test func `where Belvo grants less than is set as many leave as it grants, and few are refused`() {
        let (calls, refused) = play(30, users: 40, rate: 50, seconds: 60)
        #expect((270...330).contains(calls), "\(calls)")
        #expect(refused * 20 < calls, "\(refused) of \(calls)")
    }

    @Test func `where Belvo grants almost nothing half of what is set leaves all the same`() {
        #expect((250...270).contains(play(5, users: 40, rate: 50, seconds: 60).calls))
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

    @Test func `the rate rises again by a two-hundredth of what is set a second`() {
        var limiter = CallLimiter(rate: 50, callsMax: 64)
        var slowed: [Bool] = []
        for user in 1...3 as ClosedRange<UInt64> { _ = limiter.learn(from: .answered, of: user, at: at(0)) }
        for second in 0..<2 {
            for user in 1...3 as ClosedRange<UInt64> {
                slowed.append(limiter.learn(from: .throttled, of: user, at: at(Double(second))))
            }
        }
        // The third user who is told so is the one who shows it; the second time the rate is low already.
        #expect(slowed == [false, false, true, false, false, false])
        let low = 50.0 * 25 / 36
        #expect(abs(limiter.rate(at: at(1)) - low) < 0.6)
        #expect(abs(limiter.rate(at: at(11)) - low - 2.5) < 0.6)
        #expect(limiter.rate(at: at(90)) == 50)
    }

    @Test func `without a limit there is nothing to lower`() {
        var limiter = CallLimiter(rate: 0, callsMax: 64)
        for user in 1...3 as ClosedRange<UInt64> { _ = limiter.learn(from: .answered, of: user, at: at(0)) }
        let slowed = (1...3 as ClosedRange<UInt64>).map { limiter.learn(from: .throttled, of: $0, at: at(0)) }
        #expect(slowed == [false, false, false])
        #expect(limiter.rate(at: at(0)) == 0)
    }
}

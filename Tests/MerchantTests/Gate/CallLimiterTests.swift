import Belvo
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// The limiter's choice of callers, and their rates.
@Suite struct CallLimiterTests {
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    /// How many turns a caller gets who takes every one that there is, looking every ten milliseconds.
    private func taken(_ limiter: inout CallLimiter, from start: Double, seconds: Double) -> Int {
        var count = 0
        for tick in 0..<Int(seconds * 100) {
            while limiter.take(for: .person, at: at(start + Double(tick) / 100)) {
                limiter.finish(.person)
                count += 1
            }
        }
        return count
    }

    @Test(arguments: [1, 7, 50, 1_000])
    func `no second holds more than the rate and a fifth of it, and none is wasted`(rate: Int) {
        var limiter = CallLimiter(rate: rate, callsMax: 1_000)
        let first = taken(&limiter, from: 0, seconds: 1)
        #expect(first <= rate + max(1, rate / 5))
        #expect(first >= rate)
        let next = taken(&limiter, from: 1, seconds: 10)
        #expect((rate * 10 - 1...rate * 10 + 1).contains(next))
    }

    @Test func `without a limit every call has its turn at once`() {
        var limiter = CallLimiter(rate: 0, callsMax: 100_000)
        let all = (0..<10_000).allSatisfy { _ in limiter.take(for: .background, at: at(0)) }
        #expect(all)
    }

    @Test(arguments: [
        (true, true, "ppppbppppbppppb"), (true, false, "ppppppppppppppp"), (false, true, "bbbbbbbbbbbbbbb"),
    ])
    func `when both wait every fifth turn is the background's, else all are whoever's waits`(
        people: Bool, background: Bool, order: String
    ) {
        var limiter = CallLimiter(rate: 10, callsMax: 100)
        var turns = ""
        // The unused turns first, so that every turn is waited for.
        while limiter.take(for: .background, at: at(0)) {}
        for tick in 1...15 {
            let waiting = PerCaller(person: people, background: background, stranger: false)
            let next = limiter.next(waiting: { waiting[$0] }, at: at(Double(tick) / 10 + 0.001))
            turns += next == .person ? "p" : next == .background ? "b" : "-"
        }
        #expect(turns == order)
    }

    @Test func `strangers come last, at their own rate, and while all wait every tenth turn is theirs`() {
        var limiter = CallLimiter(rate: 100, strangerRate: 10, callsMax: 100)
        while limiter.take(for: .background, at: at(0)) {}
        var turns: [Caller: Int] = [:]
        for tick in 1...100 {
            if let next = limiter.next(waiting: { _ in true }, at: at(Double(tick) / 100 + 0.001)) {
                turns[next, default: 0] += 1
                limiter.finish(next)
            }
        }
        #expect(turns == [.person: 72, .background: 18, .stranger: 10])
        // No other caller waits, and still there is no more than their rate.
        var alone = CallLimiter(rate: 100, strangerRate: 10, callsMax: 100)
        let taken = (0..<100).count { alone.next(waiting: { $0 == .stranger }, at: at(Double($0) / 100)) != nil }
        #expect((11...12).contains(taken))
    }

    @Test func `slow looks leave places for people, and slow people one for looks`() {
        var limiter = CallLimiter(rate: 0, callsMax: 16)
        func take(_ caller: Caller) -> Int {
            var count = 0
            while limiter.take(for: caller, at: at(0)) { count += 1 }
            return count
        }
        #expect(take(.background) == 8)
        #expect(take(.person) == 8)
        var crowded = CallLimiter(rate: 0, callsMax: 16)
        var people = 0
        while crowded.take(for: .person, at: at(0)) { people += 1 }
        #expect(people == 14)
        let hasPlace = crowded.take(for: .background, at: at(0))
        #expect(hasPlace)
    }

    @Test func `one place serves both in turn`() {
        var limiter = CallLimiter(rate: 0, callsMax: 1)
        var taken = [limiter.take(for: .person, at: at(0)), limiter.take(for: .background, at: at(0))]
        limiter.finish(.person)
        taken.append(limiter.take(for: .background, at: at(0)))
        #expect(taken == [true, false, true])
    }

    @Test func `a turn that was not used is somebody else's`() {
        var limiter = CallLimiter(rate: 1, callsMax: 8)
        var taken = [limiter.take(for: .person, at: at(0)), limiter.take(for: .person, at: at(0))]
        #expect(limiter.delay(at: at(0)) > .milliseconds(999))
        limiter.giveBack(.person)
        taken.append(limiter.take(for: .background, at: at(0)))
        #expect(taken == [true, false, true])
    }

    @Test(arguments: [(4, "ppppbppppb"), (3, "pppbpppb"), (1, "pbpbpb")])
    func `people have so many turns in a row where workers wait`(most: Int, turns: String) {
        var limiter = CallLimiter(rate: 10, callsMax: 64)
        let given = (1...30).compactMap { tick in
            limiter.next(
                waiting: { $0 != .stranger }, peopleInARowMax: most,
                at: Monotonic(nanoseconds: 0) + .milliseconds(100 * tick + 1)
            ).map { $0 == .person ? "p" : "b" }
        }
        #expect(given.joined().hasPrefix(turns))
    }

    @Test(arguments: [(Call.authorizePaymentIntent, 4), (.createPaymentIntent, 6)])
    func `workers that have waited for a second have every third turn, and one before each call that begins something`(
        peoplesCall: Call, turnsOfTwelve: Int
    ) async throws {
        try await withLoop { loop in
            let now = Box(Monotonic(nanoseconds: 0))
            let gate = BelvoGate.patient(callsMax: 8) { now.value }
            let wire = Wire()
            defer { wire.answerAll() }
            var calls: [Task<Void, any Error>] = []
            func call(_ caller: Caller, _ number: Int) throws {
                let (carry, origin) = (gate.carry(for: caller, by: wire.send), try user("\(caller)-\(number)"))
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            let call = caller == .person ? peoplesCall : .readPaymentIntent
                            return try await carry(call, request("/\(caller)"), .seconds(60))
                        }
                    })
            }
            for number in 1...8 { try call(.person, number) }
            await loop.comeToRest()
            for number in 11...30 { for caller in [Caller.person, .background] { try call(caller, number) } }
            await loop.comeToRest()
            func turns(_ count: Int) async throws -> Int {
                let before = wire.left.count
                for number in 1...count {
                    wire.answer()
                    try await wire.hasLeft(before + number)
                }
                return wire.left.suffix(count).count { $0 == "/background" }
            }
            #expect(try await turns(10) == 2)
            now.update { $0 = $0 + GateState.workersWaitMax }
            #expect(try await turns(12) == turnsOfTwelve)
            wire.answerAll()
            for call in calls { try await call.value }
        }
    }
}

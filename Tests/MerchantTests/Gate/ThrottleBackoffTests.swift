import Belvo
import HTTP
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

    @Test func `what a worker is told keeps workers silent, and people when a person's call is told it, too`() {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, _ caller: Caller, _ seconds: Double) {
            let answer = CallOutcome(Response(HTTP.Status(status), headers: ["retry-after": "5"]))
            _ = belvo.learn(
                from: answer, .readPaymentIntent, caller, target: "/", isProbe: false, at: at(seconds), jitter: { 0 })
        }
        func mayGo(_ caller: Caller, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(.readPaymentIntent, caller, at: at(seconds)) { true } else { false }
        }
        hear(429, .background, 0)
        #expect(!mayGo(.background, 1) && mayGo(.person, 1))
        // The answer to a person's call does not end the workers' silence.
        hear(200, .person, 2)
        #expect(!mayGo(.background, 3))
        #expect(mayGo(.background, 6))
        hear(429, .person, 7)
        #expect(!mayGo(.background, 8) && !mayGo(.person, 8))
        #expect(mayGo(.background, 13) && mayGo(.person, 13))
    }

    @Test func `what a worker is told about one user keeps his records unread for a minute, and others' for a moment`()
    {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, of party: UInt64, _ seconds: Double) -> [BelvoAvailability.Event] {
            let answer = CallOutcome(Response(HTTP.Status(status), headers: ["retry-after": "3600"]))
            return belvo.learn(
                from: answer, .readPaymentIntent, .background, of: party, target: "/", isProbe: false, at: at(seconds),
                jitter: { 0 })
        }
        func mayGo(_ caller: Caller = .background, of party: UInt64, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(.readPaymentIntent, caller, of: party, at: at(seconds)) { true } else { false }
        }
        #expect(hear(429, of: 7, 0) == [.throttled(.seconds(2))])
        #expect(!mayGo(of: 0, 1) && mayGo(of: 1, 1) && !mayGo(of: 2, 1.1), "one who was told nothing finds out")
        #expect(mayGo(.person, of: 7, 1), "what workers are told keeps nobody waiting who asks himself")
        #expect(mayGo(of: 1, 2) && !mayGo(of: 7, 2))
        for party: UInt64 in [8, 3, 1, 2] { #expect(hear(200, of: party, 3).isEmpty) }
        // Two are told so, and two are not: that this is their own was found out a moment ago.
        #expect(hear(429, of: 8, 4).isEmpty)
        #expect(mayGo(of: 1, 6) && !mayGo(of: 8, 6))
        #expect(mayGo(of: 7, 60) && mayGo(of: 8, 64))
        // Told to more than were let in lately: a moment for all, though it is asked for an hour.
        #expect(hear(429, of: 7, 99).isEmpty, "others were let in since he was told so, so it is about his own")
        #expect(hear(429, of: 9, 100) == [.throttled(.seconds(2))])
        #expect(hear(429, of: 1, 102) == [.throttled(.seconds(5))])
        #expect(!mayGo(of: 0, 106) && mayGo(of: 2, 106) && !mayGo(of: 3, 106.1))
        #expect(mayGo(of: 0, 107))
    }

    @Test(arguments: [Caller.person, .background])
    func `what users were told while Belvo told all so ends when another one is let in`(caller: Caller) {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, of party: UInt64, _ seconds: Double) {
            _ = belvo.learn(
                from: CallOutcome(Response(HTTP.Status(status))), .readPaymentIntent, caller, of: party, target: "/",
                isProbe: false, at: at(seconds), jitter: { 0 })
        }
        func mayGo(of party: UInt64, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(.readPaymentIntent, caller, of: party, at: at(seconds)) { true } else { false }
        }
        hear(200, of: 1, 0)
        // Two outages within minutes.
        for start in [0.0, 60] {
            for party: UInt64 in 7...9 { hear(200, of: party, start) }
            hear(200, of: 1, start)
            for moment in [1.0, 3, 7, 12, 18] { for party: UInt64 in 7...9 { hear(429, of: party, start + moment) } }
            #expect(!mayGo(of: 7, start + 19))
            #expect(mayGo(of: 7, start + 25), "each is silent for four seconds at most, and leaves others two")
            for party: UInt64 in 7...9 { hear(429, of: party, start + 25) }
            #expect(mayGo(of: 1, start + 25.9))
            hear(200, of: 1, start + 26)
            for party: UInt64 in 7...9 { #expect(mayGo(of: party, start + 26.1)) }
        }
        // Told so again, while others are let in, it is about their own.
        hear(429, of: 7, 86.2)
        hear(200, of: 1, 86.3)
        hear(429, of: 7, 87)
        hear(200, of: 1, 87.3)
        #expect(!mayGo(of: 7, 88) && mayGo(of: 8, 88))
    }

    @Test(arguments: [nil, "1"])
    func `users who are told to be silent again and again keep the others silent once`(retryAfter: String?) {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, _ caller: Caller, of party: UInt64, _ seconds: Double) {
            let headers: Headers = retryAfter.map { ["retry-after": $0] } ?? [:]
            _ = belvo.learn(
                from: CallOutcome(Response(HTTP.Status(status), headers: headers)), .createPaymentIntent, caller,
                of: party, target: "/", isProbe: false, at: at(seconds), jitter: { 0 })
        }
        func mayGo(_ caller: Caller, of party: UInt64, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(.readPaymentIntent, caller, of: party, at: at(seconds)) { true } else { false }
        }
        for caller in [Caller.person, .background] {
            for party: UInt64 in 7...9 { hear(429, caller, of: party, 0) }
            #expect(!mayGo(caller, of: 1, 0.2) && !mayGo(caller, of: 0, 0.5))
            // Another one is first when the silence is over.
            #expect(mayGo(caller, of: 1, 2.5) && !mayGo(caller, of: 7, 2.5))
            hear(200, caller, of: 1, 3)
            for moment in stride(from: 7.0, to: 30, by: 0.1) {
                for party: UInt64 in 7...9 { hear(429, caller, of: party, moment) }
                #expect(mayGo(caller, of: 1, moment) && mayGo(caller, of: 2, moment), "\(caller) at \(moment)")
            }
            belvo = BelvoAvailability()
        }
    }

    @Test func `a call that is kept back for its user does not ask in a long silence`() {
        var belvo = BelvoAvailability()
        func hear(_ seconds: Double, _ retryAfter: String, of party: UInt64) {
            _ = belvo.learn(
                from: CallOutcome(Response(.tooManyRequests, headers: ["retry-after": retryAfter])),
                .readPaymentIntent, .person, of: party, target: "/", isProbe: false, at: at(seconds), jitter: { 0 })
        }
        hear(0, "3600", of: 0)
        hear(61, "3600", of: 7)
        func mayGo(of party: UInt64) -> Bool {
            if case .go = belvo.enter(.readPaymentIntent, .person, of: party, at: at(62)) { true } else { false }
        }
        #expect(!mayGo(of: 7))
        #expect(mayGo(of: 1), "the minute's question was used up by a call that never left")
    }

    @Test func `a 429 to a list of all payments keeps workers from lists for a minute, and from others for a moment`() {
        var belvo = BelvoAvailability()
        let answer = CallOutcome(Response(HTTP.Status(429), headers: ["retry-after": "600"]))
        func mayGo(_ call: Call, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(call, .background, at: at(seconds)) { true } else { false }
        }
        let events = belvo.learn(
            from: answer, .findPaymentIntents, .background, target: "/", isProbe: false, at: at(0), jitter: { 0 })
        #expect(events == [.throttled(.seconds(2))])
        #expect(!mayGo(.readPaymentIntent, 1))
        #expect(mayGo(.readPaymentIntent, 2) && !mayGo(.findPaymentIntents, 59))
        #expect(mayGo(.findPaymentIntents, 60))
    }

    @Test func `a silence of an hour is asked about once a minute, and over when Belvo lets one in`() {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, _ seconds: Double) {
            let answer = CallOutcome(Response(HTTP.Status(status), headers: ["retry-after": "3600"]))
            _ = belvo.learn(
                from: answer, .readPaymentIntent, .background, target: "/", isProbe: false, at: at(seconds),
                jitter: { 0 })
        }
        func mayGo(_ call: Call, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(call, .background, at: at(seconds)) { true } else { false }
        }
        hear(429, 0)
        // What left before it was answered since: that ends nothing.
        hear(200, 1)
        #expect(!mayGo(.readPaymentIntent, 59))
        #expect(!mayGo(.authorizePaymentIntent, 60), "what changes something is not what asks")
        #expect(mayGo(.readPaymentIntent, 60) && !mayGo(.readPaymentIntent, 61))
        hear(429, 61)
        #expect(!mayGo(.readPaymentIntent, 119))
        #expect(mayGo(.readPaymentIntent, 120))
        hear(200, 121)
        #expect(mayGo(.readPaymentIntent, 121) && mayGo(.authorizePaymentIntent, 121))
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

    @Test func `one user's 429 keeps workers silent for a moment once, while they are let in after it`() {
        var belvo = BelvoAvailability()
        func hear(_ status: Int, of party: UInt64, _ seconds: Double) -> [BelvoAvailability.Event] {
            belvo.learn(
                from: CallOutcome(Response(HTTP.Status(status))), .readPaymentIntent, .background, of: party,
                target: "/", isProbe: false, at: at(seconds), jitter: { 0 })
        }
        for party in (1...30 as ClosedRange<UInt64>).reversed() { #expect(hear(200, of: party, 0).isEmpty) }
        #expect(hear(429, of: 2, 1) == [.throttled(.seconds(2))])
        #expect(hear(200, of: 1, 3.5).isEmpty)
        // More and more users are told so, one at a time.
        for party in 3...20 as ClosedRange<UInt64> {
            let seconds = Double(party) + 1
            #expect(hear(429, of: party, seconds).isEmpty)
            for other in [100 + party, 200 + party] { #expect(hear(200, of: other, seconds + 0.5).isEmpty) }
        }
        #expect(hear(429, of: 30, 100) == [.throttled(.seconds(2))])
    }
}

import Belvo
import HTTP
import Testing
import Transport

@testable import BelvoGate

/// A client may have any number of users whom Belvo never let in. While others are let in, what those are answered
/// keeps no calls here.
@Suite struct NewcomersTests {
    /// Seconds after the beginning of a test's time.
    private static func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    /// Belvo's availability after a user's call was let in.
    private final class Day {
        static let user: UInt64 = 7
        var belvo = BelvoAvailability()

        init() { hear(.answered, of: Self.user, 0) }

        func hear(_ kind: CallOutcome.Kind, of party: UInt64, isProbe: Bool = false, _ seconds: Double) {
            var outcome = CallOutcome(kind)
            if kind == .denied { outcome.status = 401 }
            if kind == .throttled { outcome.retryAfter = .seconds(3_600) }
            _ = belvo.learn(
                from: outcome, .createCustomer, .person, of: party, target: "/", isProbe: isProbe, began: at(seconds),
                at: at(seconds), jitter: { 0 })
        }

        func mayGo(_ call: Call = .readPaymentIntent, of party: UInt64, _ seconds: Double) -> Bool {
            if case .go = belvo.enter(call, .person, of: party, at: at(seconds)) { true } else { false }
        }
    }

    @Test(arguments: [CallOutcome.Kind.failed, .timedOut, .denied, .throttled])
    func `however many newcomers' calls fail, others' go on while a user is let in`(kind: CallOutcome.Kind) {
        let day = Day()
        for party: UInt64 in 100..<3_000 { day.hear(kind, of: party, Double(party) / 1_000) }
        #expect(!day.belvo.isShut(at: Self.at(3)))
        #expect(day.mayGo(of: Day.user, 3))
    }

    @Test(arguments: [CallOutcome.Kind.failed, .timedOut, .denied])
    func `newcomers' failures count once no call was let in for ten seconds`(kind: CallOutcome.Kind) {
        let day = Day()
        for party: UInt64 in 100..<120 { day.hear(kind, of: party, 10) }
        #expect(day.belvo.isShut(at: Self.at(11)))
    }

    @Test func `an open circuit lets users find out who were let in before and whose calls do not fail`() {
        let day = Day()
        for party: UInt64 in 20...29 { day.hear(.answered, of: party, 0.5) }
        for _ in 0..<2 { for party: UInt64 in 20...29 { day.hear(.failed, of: party, 1) } }
        #expect(day.belvo.circuit.state(at: Self.at(1)) == .open)
        // Those whose calls are on their way are heard first.
        #expect(!day.mayGo(of: Day.user, 1.1))
        #expect(!day.mayGo(of: 20, 1.5), "what fails for this user says nothing new")
        #expect(!day.mayGo(of: 999, 1.5), "newcomers may be any number")
        #expect(!day.mayGo(.createPaymentIntent, of: Day.user, 1.5), "reads find out first")
        #expect(day.mayGo(of: Day.user, 1.5))
        #expect(!day.mayGo(of: Day.user, 1.6))
        day.hear(.answered, of: Day.user, isProbe: true, 1.6)
        #expect(day.belvo.circuit.state(at: Self.at(1.6)) == .closed)
        for party: UInt64 in 20...29 { day.hear(.failed, of: party, 1.7) }
        #expect(day.belvo.circuit.state(at: Self.at(2)) == .closed)
    }

    @Test func `the tries of users who were let in before are not taken by newcomers`() {
        let day = Day()
        for party: UInt64 in 20...22 { day.hear(.answered, of: party, 0.5) }
        for party: UInt64 in 20...22 { day.hear(.denied, of: party, 1) }
        #expect(day.belvo.lockout.isOn)
        for party: UInt64 in 100..<200 { _ = day.mayGo(of: party, 1.3) }
        #expect(day.mayGo(of: Day.user, 1.3))
    }
}

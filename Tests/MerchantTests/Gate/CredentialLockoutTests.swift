import Belvo
import Testing
import Transport

@testable import BelvoGate

/// The effect of 401 and 403 on other calls.
@Suite struct CredentialLockoutTests {
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    /// After so many answers in a row.
    private func denied(
        _ count: Int, _ status: Int = 401, _ call: Call = .readPaymentIntent,
        target: (Int) -> String = { "/payments/br/payment-intents/\($0)/" }
    ) -> (lockout: CredentialLockout, alarms: [CredentialLockout.Alarm]) {
        var lockout = CredentialLockout()
        let alarms = (0..<count).compactMap { lockout.noteDenied(status, call, target: target($0), at: at(0)) }
        return (lockout, alarms)
    }

    @Test func `three denials in a row are a lock-out, and one alarm`() {
        #expect(!denied(2).lockout.isOn)
        let (lockout, alarms) = denied(3)
        #expect(lockout.isOn)
        #expect(alarms == [.credentials])
    }

    @Test func `a call that is let in between two denials says that it is no lock-out`() {
        var (lockout, _) = denied(2)
        let ended = lockout.noteAdmitted(at: at(0))
        #expect(!ended)
        _ = lockout.noteDenied(401, .readPaymentIntent, target: "/", at: at(1))
        #expect(!lockout.isOn)
    }

    @Test func `locked out, a worker tries every five seconds and people every second`() {
        var (lockout, _) = denied(3)
        #expect(lockout.ask(.background, at: at(4)) == .seconds(1))
        #expect(lockout.ask(.background, at: at(5)) == nil)
        #expect(lockout.ask(.background, at: at(6)) == .seconds(4))
        #expect(lockout.ask(.person, at: at(6)) == nil)
        #expect(lockout.ask(.person, at: at(6.5)) == .seconds(0.5))
        #expect(lockout.ask(.person, at: at(7)) == nil)
    }

    @Test func `the first call that is let in ends it, and the next lock-out raises a new alarm`() {
        var (lockout, _) = denied(3)
        let ended = lockout.noteAdmitted(at: at(0))
        #expect(ended)
        #expect(lockout.ask(.background, at: at(1)) == nil)
        let alarm = lockout.noteDenied(401, .readEnrollment, target: "/", at: at(2))
        #expect(alarm == .credentials)
    }

    @Test func `what is denied to one user again and again locks nobody out, and he does not keep a lock-out up`() {
        var lockout = CredentialLockout()
        for _ in 0..<100 { _ = lockout.noteDenied(401, .readEnrollment, .person, of: 7, target: "/", at: at(0)) }
        #expect(!lockout.isOn)
        for party: UInt64 in 8...9 {
            _ = lockout.noteDenied(401, .readEnrollment, .person, of: party, target: "/", at: at(0))
        }
        #expect(lockout.isOn)
        #expect(lockout.ask(.person, of: 7, at: at(1)) == .seconds(3))
        #expect(lockout.ask(.person, of: 1, at: at(1)) == nil, "another user's call finds out")
        _ = lockout.noteDenied(401, .readEnrollment, .person, of: 1, target: "/", at: at(1))
        #expect(lockout.ask(.person, of: 1, at: at(2)) == .seconds(3))
        #expect(lockout.ask(.person, of: 7, at: at(4)) == nil)
        // From then on each try of those who were denied leaves others a second to be first.
        #expect(lockout.ask(.person, of: 8, at: at(5)) == .seconds(1))
        #expect(lockout.ask(.person, of: 2, at: at(5)) == nil)
    }

    @Test(arguments: [401, 403])
    func `while others are let in, what is denied to one user's records locks nobody out`(status: Int) {
        var lockout = CredentialLockout()
        func deny(of party: UInt64, _ seconds: Double) {
            _ = lockout.noteDenied(
                status, .readPaymentIntent, .background, of: party, target: "/\(seconds)", at: at(seconds))
        }
        _ = lockout.noteAdmitted(of: 1, at: at(0))
        for second in 0..<59 { deny(of: 7, Double(second)) }
        #expect(!lockout.isOn)
        // No other was let in for a minute.
        deny(of: 7, 61)
        deny(of: 7, 62)
        #expect(lockout.isOn)
        // Every other try is others'.
        #expect(lockout.ask(.background, of: 7, at: at(67)) == .seconds(1))
        #expect(lockout.ask(.background, of: 7, at: at(68)) == nil)
        deny(of: 7, 68)
        #expect(lockout.ask(.background, of: 7, at: at(73)) == .seconds(1))
        #expect(lockout.ask(.background, of: 1, at: at(73)) == nil)
        #expect(lockout.ask(.background, of: 7, at: at(79)) == nil)
    }

    @Test func `the same alarm is raised again after an hour, not before`() {
        var (lockout, _) = denied(3)
        let early = lockout.noteDenied(401, .readEnrollment, target: "/", at: at(3_599))
        #expect(early == nil)
        let late = lockout.noteDenied(401, .readEnrollment, target: "/", at: at(3_600))
        #expect(late == .credentials)
        #expect(lockout.denials == 5)
    }

    @Test func `403 to what a call says is an alarm of its own and locks nobody out`() {
        let (lockout, alarms) = denied(100, 403, .createEnrollment)
        #expect(!lockout.isOn)
        #expect(alarms == [.content])
    }

    @Test func `403 to the same read again and again is that object's trouble`() {
        #expect(!denied(100, 403, target: { _ in "/payments/br/payment-intents/1/" }).lockout.isOn)
        #expect(denied(3, 403).lockout.isOn)
    }

    @Test func `locked out, a list that is denied leaves it to single readings to find out`() {
        var lockout = CredentialLockout()
        let list = UInt64.max
        for party in 1...3 as ClosedRange<UInt64> {
            _ = lockout.noteDenied(401, .readPaymentIntent, of: party, target: "/a", at: at(0))
        }
        #expect(lockout.isOn)
        #expect(lockout.ask(.background, at: at(5)) == nil)
        _ = lockout.noteDenied(401, .findPaymentIntents, of: list, target: "/a", at: at(5))
        #expect(lockout.ask(.background, of: list, at: at(10)) == .seconds(1))
        #expect(lockout.ask(.background, of: 8, at: at(10)) == nil)
    }

    @Test func `locked out, calls for users who were denied nothing soon find out, and ever fewer in vain`() {
        var lockout = CredentialLockout()
        for party in 1...3 as ClosedRange<UInt64> {
            _ = lockout.noteDenied(401, .readPaymentIntent, of: party, target: "/\(party)", at: at(0))
        }
        #expect(lockout.ask(.background, of: 3, at: at(0.5)) != nil, "this one was denied")
        var moments: [Double] = []
        for step in 0..<480 where lockout.ask(.background, of: UInt64(100 + step), at: at(Double(step) / 4)) == nil {
            moments.append(Double(step) / 4)
        }
        #expect(moments.prefix(8) == [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2])
        #expect(moments.count { $0 < 15 } < 30)
        let late = moments.filter { $0 >= 100 }
        #expect(late.count == 4)
        #expect(zip(late, late.dropFirst()).allSatisfy { $1 - $0 == 5 })
    }
}

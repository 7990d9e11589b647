import Belvo
import HTTP
import Testing
import Transport

@testable import BelvoGate

/// When Belvo as a whole counts as away.
@Suite struct CircuitBreakerTests {
    /// Seconds after the beginning of a test's time.
    private func at(_ seconds: Double) -> Monotonic { Monotonic(nanoseconds: 0) + .seconds(1_000 + seconds) }

    private func failing(_ count: Int, from start: Double = 0) -> CircuitBreaker {
        var circuit = CircuitBreaker()
        for _ in 0..<count { _ = circuit.note(failed: true, probe: false, at: at(start), jitter: 0) }
        return circuit
    }

    @Test func `fewer calls than a judgement needs do not open it, whatever becomes of them`() {
        #expect(failing(CircuitBreaker.callsMin - 1).state(at: at(0)) == .closed)
        #expect(failing(CircuitBreaker.callsMin).state(at: at(0)) == .open)
    }

    @Test func `it opens when half of a window's calls fail, and not before`() {
        var circuit = CircuitBreaker()
        for _ in 0..<10 { _ = circuit.note(failed: false, probe: false, at: at(0), jitter: 0) }
        for _ in 0..<9 { _ = circuit.note(failed: true, probe: false, at: at(5), jitter: 0) }
        #expect(circuit.state(at: at(5)) == .closed)
        let change = circuit.note(failed: true, probe: false, at: at(5), jitter: 0)
        #expect(change == .opened(failures: 10, calls: 20))
    }

    @Test func `what failed longer ago than a window does not count`() {
        var circuit = failing(9)
        #expect(circuit.note(failed: true, probe: false, at: at(10), jitter: 0) == nil)
        #expect(circuit.state(at: at(10)) == .closed)
    }

    @Test func `a single object that fails at every look opens nothing`() {
        var circuit = CircuitBreaker()
        for look in 0..<100 {
            #expect(circuit.note(failed: true, probe: false, at: at(Double(look) * 2), jitter: 0) == nil)
        }
    }

    @Test func `what one user's calls meet opens nothing, what four users' do opens it`() {
        var circuit = CircuitBreaker()
        for _ in 0..<1_000 { _ = circuit.note(failed: true, probe: false, of: 7, at: at(0), jitter: 0) }
        #expect(circuit.state(at: at(0)) == .closed)
        for party in 1...3 {
            for _ in 0..<3 { _ = circuit.note(failed: true, probe: false, of: UInt64(party), at: at(1), jitter: 0) }
        }
        #expect(circuit.state(at: at(1)) == .open)
    }

    @Test func `what one user has under way opens nothing, though it is read for webhooks as well`() {
        var circuit = CircuitBreaker()
        for _ in 0..<4 { _ = circuit.note(failed: false, probe: false, at: at(0), jitter: 0) }
        for party in [1, 7] as [UInt64] {
            for _ in 0..<20 { _ = circuit.note(failed: true, probe: false, of: party, at: at(0), jitter: 0) }
        }
        #expect(circuit.state(at: at(0)) == .closed)
        // What fails for a third one as well is no single user's matter.
        _ = circuit.note(failed: true, probe: false, of: 8, at: at(0), jitter: 0)
        #expect(circuit.state(at: at(0)) == .open)
    }

    @Test func `open, it lets nothing pass and says when to come again`() {
        let circuit = failing(10)
        #expect(circuit.ask(changing: false, at: at(0)) == .stay(.seconds(2)))
        #expect(circuit.ask(changing: false, at: at(1.5)) == .stay(.seconds(0.5)))
    }

    @Test func `half open, one read finds out and everybody else stays`() {
        var circuit = failing(10)
        #expect(circuit.state(at: at(2)) == .halfOpen)
        #expect(circuit.ask(changing: false, at: at(2)) == .probe)
        circuit.noteProbe(at: at(2))
        #expect(circuit.ask(changing: false, at: at(2)) == .stay(.seconds(2)))
        #expect(circuit.note(failed: false, probe: true, at: at(2.5), jitter: 0) == .closed(after: .seconds(2.5)))
        #expect(circuit.ask(changing: true, at: at(2.5)) == .pass)
        // The failures from before are forgotten.
        #expect(circuit.note(failed: true, probe: false, at: at(2.6), jitter: 0) == nil)
    }

    @Test func `a call that changes something finds out only when no read has come`() {
        let circuit = failing(10)
        #expect(circuit.ask(changing: true, at: at(2)) == .stay(CircuitBreaker.readsFirst))
        #expect(circuit.ask(changing: true, at: at(3.25)) == .probe)
    }

    @Test func `a probe that hangs keeps nobody from finding out two seconds later`() {
        var circuit = failing(10)
        circuit.noteProbe(at: at(2))
        #expect(circuit.ask(changing: false, at: at(3.5)) == .stay(.seconds(0.5)))
        #expect(circuit.ask(changing: false, at: at(4)) == .probe)
        circuit.noteProbe(at: at(4))
        #expect(circuit.note(failed: false, probe: true, at: at(4.5), jitter: 0) == .closed(after: .seconds(4.5)))
        // The first one ends when its time is over, and is one failure among others.
        #expect(circuit.note(failed: true, probe: true, at: at(5), jitter: 0) == nil)
        #expect(circuit.state(at: at(5)) == .closed)
    }

    @Test func `however many users' objects hang or are refused while others are let in, it says nothing of Belvo`() {
        func belvo(lettingIn other: Bool) -> BelvoAvailability {
            var belvo = BelvoAvailability()
            func learn(_ kind: CallOutcome.Kind, of party: UInt64, began: Double, at seconds: Double) {
                _ = belvo.learn(
                    from: CallOutcome(kind), .readPaymentIntent, .person, of: party, target: "/",
                    isProbe: false, began: at(began), at: at(seconds), jitter: { 0 })
            }
            if other { learn(.answered, of: 1, began: 4, at: 5) }
            for party: UInt64 in 7...10 {
                for _ in 0..<4 { learn(.timedOut, of: party, began: 0, at: 10) }
            }
            // Another one was let in, and each of them is denied once more.
            if other { learn(.answered, of: 1, began: 11, at: 11) }
            for moment in [12, 12.1, 12.2] {
                for party: UInt64 in 7...9 { learn(.denied, of: party, began: moment, at: moment) }
            }
            return belvo
        }
        let fine = belvo(lettingIn: true)
        #expect(fine.circuit.state(at: at(12)) == .closed && !fine.lockout.isOn)
        let away = belvo(lettingIn: false)
        #expect(away.circuit.state(at: at(11)) == .open && away.lockout.isOn)
    }

    @Test func `a probe that a lock-out keeps back leaves its place to the next call`() {
        var belvo = BelvoAvailability()
        func hear(_ outcome: CallOutcome.Kind, times count: Int, _ seconds: Double) {
            for _ in 0..<count {
                _ = belvo.learn(
                    from: CallOutcome(outcome), .readPaymentIntent, .background, target: "/", isProbe: false,
                    at: at(seconds), jitter: { 0 })
            }
        }
        func entry(_ seconds: Double) -> BelvoAvailability.Entry {
            belvo.enter(.readPaymentIntent, .background, at: at(seconds))
        }
        hear(.denied, times: CredentialLockout.denialsMin, 0)
        hear(.timedOut, times: CircuitBreaker.callsMin, 1)
        // The circuit would let it find out, and the lock-out lets workers try every five seconds.
        #expect(entry(4) != .go(isProbe: true))
        #expect(entry(5) == .go(isProbe: true), "the circuit waits for a probe that nobody makes")
    }

    @Test func `however long Belvo is away, somebody finds out every two seconds`() {
        var circuit = failing(10)
        for moment in stride(from: 2.0, to: 200, by: 2) {
            #expect(circuit.ask(changing: false, at: at(moment)) == .probe)
            circuit.noteProbe(at: at(moment))
            #expect(circuit.note(failed: true, probe: true, at: at(moment), jitter: 0) == nil)
            #expect(circuit.ask(changing: false, at: at(moment)) == .stay(.seconds(2)))
        }
    }

    @Test func `what was under way when it opened neither closes it nor keeps it open`() {
        var circuit = failing(10)
        #expect(circuit.note(failed: false, probe: false, at: at(1), jitter: 0) == nil)
        #expect(circuit.note(failed: true, probe: false, at: at(1.5), jitter: 0) == nil)
        #expect(circuit.state(at: at(1.9)) == .open)
        #expect(circuit.state(at: at(2)) == .halfOpen)
    }

    @Test func `jitter lengthens the pause by a quarter at most`() {
        var circuit = failing(9)
        _ = circuit.note(failed: true, probe: false, at: at(0), jitter: 1)
        #expect(circuit.ask(changing: false, at: at(0)) == .stay(.seconds(2.5)))
    }
}

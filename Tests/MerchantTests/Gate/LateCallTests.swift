import Belvo
import HTTP
import MerchantModel
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// A call that Belvo leaves hanging holds its place for two seconds, and not until it times out.
@Suite(.timeLimit(.minutes(1))) struct LateCallTests {
    /// The calls of a test at a gate of so many places for calls, of which people may have three quarters.
    private final class Traffic {
        let gate: BelvoGate
        let wire = Wire()
        let loop: EventLoop
        private(set) var calls: [Task<Void, any Error>] = []

        init(on loop: EventLoop, callsMax: Int = 4, now: @escaping @Sendable () -> Monotonic) {
            self.loop = loop
            gate = BelvoGate.patient(callsMax: callsMax, now: now)
        }

        func call(_ name: String, _ kind: Call = .createPaymentIntent) throws {
            let carry = gate.carry(for: .person, by: wire.send)
            let origin = try user(name)
            calls.append(
                loop.task {
                    _ = try await CallOrigin.$current.withValue(origin) {
                        try await carry(kind, request("/\(name)"), .seconds(60))
                    }
                })
        }

        func end() async throws {
            wire.answerAll()
            for call in calls { try await call.value }
        }
    }

    @Test func `as many late calls give their places to others as there are places, and have none when they end`()
        async throws
    {
        try await withLoop { loop in
            let time = Box(Monotonic.now())
            let traffic = Traffic(on: loop, now: { time.value })
            defer { traffic.wire.answerAll() }
            for number in 1...5 { try traffic.call("user-\(number)") }
            await loop.comeToRest()
            #expect(traffic.wire.left.count == 3)
            time.update { $0 = $0 + .seconds(2) }
            try traffic.call("user-6")
            await loop.comeToRest()
            #expect(traffic.wire.left.count == 6)
            time.update { $0 = $0 + .seconds(2) }
            for number in 7...10 { try traffic.call("user-\(number)") }
            await loop.comeToRest()
            // Four may be late: of the second three one.
            #expect(traffic.wire.left.count == 7)
            #expect(traffic.gate.snapshot.underWay.person == 7)
            // A late one that ends lets another one be late.
            traffic.wire.answer()
            await loop.comeToRest()
            #expect(traffic.wire.left.count == 8)
            try await traffic.end()
            #expect(traffic.gate.snapshot.underWay.person == 0)
        }
    }

    @Test func `a late call's user has no more calls under way than before`() async throws {
        try await withLoop { loop in
            let time = Box(Monotonic.now())
            let traffic = Traffic(on: loop, callsMax: 64, now: { time.value })
            defer { traffic.wire.answerAll() }
            for _ in 0..<5 { try traffic.call("ana") }
            await loop.comeToRest()
            time.update { $0 = $0 + .seconds(2) }
            try traffic.call("bia")
            await loop.comeToRest()
            #expect(traffic.wire.left == ["/ana", "/ana", "/ana", "/ana", "/bia"])
            try await traffic.end()
        }
    }

    @Test func `who waits gets the place of a late call, though nothing else happens`() async throws {
        try await withLoop { loop in
            let traffic = Traffic(on: loop, now: Monotonic.now)
            defer { traffic.wire.answerAll() }
            let begin = Monotonic.now()
            for number in 1...4 { try traffic.call("user-\(number)") }
            while traffic.wire.left.count < 4, Monotonic.now() - begin < .seconds(30) {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(traffic.wire.left.count == 4)
            #expect(Monotonic.now() - begin >= .seconds(2))
            try await traffic.end()
        }
    }
}

import Belvo
import HTTP
import Logging
import MerchantModel
import Payments
import Synchronization
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Calls that pass the gate, with a `send` function that is let go by the test.
@Suite struct BelvoGateTests {
    private func gate(rate: Int = 0, callsMax: Int = 64, _ log: LogRecorder = LogRecorder()) -> BelvoGate {
        BelvoGate(rate: rate, callsMax: callsMax, log: log.logger, random: { 0 })
    }

    @Test func `people and looks that wait for the same place share it four to one, each in their order`() async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 1)
            let wire = Wire()
            let carry = gate.carriers(by: wire.send)
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ caller: Caller, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await carry[caller](.readPaymentIntent, request(path), .seconds(60))
                        })
                }
                call(.background, "/first")
                try await wire.hasLeft(1)
                for number in 1...10 { call(.background, "/b\(number)") }
                for number in 1...10 { call(.person, "/p\(number)") }
                await loop.comeToRest()
                try #require(gate.snapshot.waiting == PerCaller(person: 10, background: 10, stranger: 0))
                for count in 2...21 {
                    wire.answer()
                    try await wire.hasLeft(count)
                }
                wire.answer()
                for call in calls { try await call.value }
            }
            let people = wire.left.dropFirst().prefix(10)
            #expect(
                Array(people) == ["/p1", "/p2", "/p3", "/p4", "/b1", "/p5", "/p6", "/p7", "/p8", "/b2"])
            #expect(wire.left.count == 21)
            #expect(gate.snapshot.count(.readPaymentIntent, .answered) == 21)
            #expect(gate.snapshot.underWay == PerCaller(person: 0, background: 0, stranger: 0))
        }
    }

    @Test(arguments: [Caller.person, .background, .stranger])
    func `so many calls of each kind stand in line, and one more is told at once that nothing left`(caller: Caller)
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 1)
            let wire = Wire()
            let carry = gate.carriers(by: wire.send)
            let refused = Box<[String]>([])
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ caller: Caller, _ path: String) throws {
                    // Each is another user's, or another address's: it is not their own lines that are full.
                    let origin =
                        caller == .stranger
                        ? CallOrigin.address(try #require(IPAddress("2001:db8:0:\(path)::1")))
                        : .user(try UserSubject("user-\(path)"))
                    calls.append(
                        loop.task {
                            do {
                                _ = try await CallOrigin.$current.withValue(origin) {
                                    try await carry[caller](.readPaymentIntent, request("/\(path)"), .seconds(7200))
                                }
                            } catch is CallHeldBack { refused.update { $0.append(path) } }
                        })
                }
                try call(caller, "1000")
                try await wire.hasLeft(1)
                for number in 0..<BelvoGate.lineMax[caller] { try call(caller, "\(number)") }
                await loop.comeToRest()
                try #require(gate.snapshot.waiting[caller] == BelvoGate.lineMax[caller])
                #expect(refused.value.isEmpty)
                try call(caller, "2000")
                await loop.comeToRest()
                #expect(refused.value == ["2000"], "the line of calls is longer than its bound")
                for other in Caller.allCases where other != caller {
                    try call(other, "3000")
                    await loop.comeToRest()
                    #expect(gate.snapshot.waiting[other] == 1, "one kind of call fills the line of another")
                }
                wire.answerAll()
                await loop.comeToRest()
                try #require(
                    gate.snapshot.waiting == PerCaller(person: 0, background: 0, stranger: 0),
                    "calls wait for turns that nobody has")
                for call in calls { try await call.value }
            }
            #expect(refused.value == ["2000"])
            #expect(wire.left.count == BelvoGate.lineMax[caller] + 3)
        }
    }

    @Test func `who has no turn in time is told that nothing left`() async throws {
        try await withLoop { loop in
            let gate = gate(callsMax: 1)
            let wire = Wire()
            defer { wire.answerAll() }
            let carry = gate.carry(for: .person, by: wire.send)
            let first = loop.task { try await carry(.readEnrollment, request("/first"), .seconds(60)) }
            try await wire.hasLeft(1)
            // A call that has no more than a moment waits for half of it.
            let second = loop.task { try await carry(.createPaymentIntent, request("/second"), .milliseconds(20)) }
            await #expect(throws: CallHeldBack.self) { try await second.value }
            #expect(wire.left == ["/first"])
            wire.answer()
            _ = try await first.value
            #expect(gate.snapshot.count(.createPaymentIntent, .heldBack) == 1)
            #expect(gate.snapshot.waiting == PerCaller(person: 0, background: 0, stranger: 0))
        }
    }

    @Test func `a budget that is used up is waited for, and all calls come to their turn`() async throws {
        try await withLoop { loop in
            let gate = gate(rate: 200)
            let carry = gate.carry(for: .background) { _, _ in Response(.ok, body: Array("{}".utf8)) }
            let start = Monotonic.now()
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask(executorPreference: loop) {
                        _ = try await carry(.readPaymentIntent, request("/\(number)"), .seconds(60))
                    }
                }
                try await group.waitForAll()
            }
            // 40 at once, and 60 at 200 a second.
            #expect(Monotonic.now() - start >= .milliseconds(299))
            #expect(gate.snapshot.count(.answered) == 100)
        }
    }

    @Test func `while the circuit is open nothing leaves, and one line says so`() async throws {
        try await withLoop { loop in
            let log = LogRecorder()
            let gate = gate(log)
            let carry = gate.carry(for: .person) { _, _ in throw ClientError.notSent(reason: "refused") }
            let errors = try await loop.task {
                var errors: [String] = []
                for _ in 0..<20 {
                    do {
                        _ = try await carry(.readPaymentIntent, request("/"), .seconds(1))
                    } catch { errors.append(error is CallHeldBack ? "held" : "sent") }
                }
                return errors
            }.value
            #expect(errors.prefix(10).allSatisfy { $0 == "sent" })
            #expect(errors.dropFirst(10).allSatisfy { $0 == "held" })
            #expect(log.all.filter { $0.hasPrefix("belvo.circuit_opened") }.count == 1)
            #expect(gate.snapshot.circuit == .open)
            #expect(gate.snapshot.openings == 1)
            #expect(gate.snapshot.count(.notSent) == 10)
            #expect(gate.snapshot.count(.heldBack) == 10)
        }
    }
}

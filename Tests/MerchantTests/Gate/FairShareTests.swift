import Belvo
import HTTP
import Payments
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// No client takes the calls to Belvo from the others: neither a user who asks for many, nor one who invents redirects.
@Suite(.timeLimit(.minutes(1))) struct FairShareTests {
    private func request(_ path: String) -> Request { Request(.get, Target(path: path)) }

    private func user(_ name: String) throws -> CallOrigin { .user(try UserSubject(name)) }

    @Test func `users who wait have their turns one after the other, however many calls one of them has`() async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 8, log: LogRecorder().logger, random: { 0 })
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            let (ana, bia) = (try user("ana"), try user("bia"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                func call(_ origin: CallOrigin, _ path: String) {
                    group.addTask(executorPreference: loop) {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(.readPaymentIntent, request(path), .seconds(60))
                        }
                    }
                }
                // Two of eight places at a time are one user's, and ana has them.
                for number in 1...6 { call(ana, "/a\(number)") }
                await wire.hasLeft(2)
                while gate.snapshot.waiting.person < 4 { await Task.yield() }
                call(bia, "/b1")
                await wire.hasLeft(3)
                #expect(wire.left.last == "/b1")
                #expect(gate.snapshot.underWay.person == 3)
                // Each that ends makes room for the next one of the same user.
                for (count, answered) in [(4, 1), (5, 1), (6, 2), (7, 1)] {
                    for _ in 0..<answered { wire.answer() }
                    await wire.hasLeft(count)
                }
                for _ in 0..<2 { wire.answer() }
                try await group.waitForAll()
            }
            #expect(wire.left == ["/a1", "/a2", "/b1", "/a3", "/a4", "/a5", "/a6"])
        }
    }

    @Test func `a user past his rate waits for it, and others pass him`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, userRate: 50, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { _, _ in Response(.ok, body: Array("{}".utf8)) }
            let (ana, bia) = (try user("ana"), try user("bia"))
            let start = Monotonic.now()
            let slow = loop.task {
                for _ in 0..<110 {
                    _ = try await CallOrigin.$current.withValue(ana) {
                        try await carry(.readPaymentIntent, request("/a"), .seconds(60))
                    }
                }
                return Monotonic.now()
            }
            while gate.snapshot.waiting.person == 0 { await Task.yield() }
            let before = Monotonic.now()
            try await loop.task {
                for _ in 0..<100 {
                    _ = try await CallOrigin.$current.withValue(bia) {
                        try await carry(.readPaymentIntent, request("/b"), .seconds(60))
                    }
                }
            }.value
            #expect(Monotonic.now() - before < .milliseconds(180))
            // 100 at once, and 10 at 50 a second.
            #expect(try await slow.value - start >= .milliseconds(199))
        }
    }

    @Test func `strangers have a rate of their own, and nobody waits behind them`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, strangerRate: 5, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { _, _ in Response(.ok, body: Array("{}".utf8)) }
            let flood = loop.task {
                var sent = 0
                for number in 0..<4 {
                    let origin = CallOrigin.address(try #require(IPAddress("203.0.113.\(number)")))
                    _ = try? await CallOrigin.$current.withValue(origin) {
                        _ = try await carry(.completeRedirection, request("/s"), .milliseconds(100))
                        sent += 1
                    }
                }
                return sent
            }
            for _ in 0..<100 {
                _ = try await loop.task { try await carry(.readPaymentIntent, request("/a"), .seconds(60)) }.value
            }
            #expect(try await flood.value == 1)
            #expect(gate.snapshot.count(.completeRedirection, .heldBack) == 3)
        }
    }

    @Test(arguments: [(500, [:]), (429, ["retry-after": "3600"]), (401, [:])] as [(Int, [HeaderName: String])])
    func `what Belvo says to strangers keeps their calls here and nobody else's`(
        status: Int, fields: [HeaderName: String]
    ) async throws {
        try await withLoop { loop in
            let log = LogRecorder()
            let gate = BelvoGate(rate: 0, callsMax: 64, log: log.logger, random: { 0 })
            let carry = gate.carry(for: .person) { request, _ in
                guard request.target.path == "/s" else { return Response(.ok, body: Array("{}".utf8)) }
                var response = Response(HTTP.Status(status))
                for (name, value) in fields { response.headers.append(name, value) }
                return response
            }
            try await loop.task {
                for _ in 0..<20 {
                    _ = try? await CallOrigin.$current.withValue(.strangersWorker) {
                        try await carry(.completeRedirection, request("/s"), .seconds(1))
                    }
                    _ = try await carry(.createPaymentIntent, request("/a"), .seconds(1))
                }
            }.value
            #expect(gate.isShutForStrangers && !gate.isShut)
            #expect(gate.snapshot.circuit == .closed && gate.snapshot.quiet == nil && !gate.snapshot.isLockedOut)
            #expect(gate.snapshot.count(.createPaymentIntent, .answered) == 20)
            #expect(log.all.count == 1 && log.all.allSatisfy { $0.contains("caller=stranger") })
        }
    }

    @Test func `while Belvo is away for customers no stranger finds out whether it is back`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { _, _ in throw ClientError.notSent(reason: "refused") }
            try await loop.task {
                for _ in 0..<CircuitBreaker.callsMin {
                    _ = try? await carry(.readPaymentIntent, request("/a"), .seconds(1))
                }
                await #expect(throws: CallHeldBack.self) {
                    try await CallOrigin.$current.withValue(.strangersWorker) {
                        try await carry(.completeRedirection, request("/s"), .seconds(1))
                    }
                }
            }.value
        }
    }
}

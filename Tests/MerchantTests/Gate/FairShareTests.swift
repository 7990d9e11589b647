import Belvo
import HTTP
import MerchantModel
import Payments
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// No client takes the calls to Belvo from the others: neither a user who asks for many, nor one who invents redirects.
@Suite(.timeLimit(.minutes(1))) struct FairShareTests {
    private func request(_ path: String) -> Request { Request(.get, Target(path: path)) }

    private func user(_ name: String) throws -> CallOrigin { .user(try UserSubject(name)) }

    @Test func `users who ask for much while Belvo is slow leave places for those who have no call under way`() {
        var shares = UserShares(rate: 0, callsMax: 64)
        let now = Monotonic(nanoseconds: 0)
        var taken = 0
        for _ in 0..<16 {
            for user in 1...16 as ClosedRange<UInt64> where shares.allows(user, at: now) {
                shares.take(user, at: now)
                taken += 1
            }
        }
        #expect(taken == 32)
        for user in 17...32 as ClosedRange<UInt64> {
            #expect(shares.allows(user, at: now))
            shares.take(user, at: now)
            #expect(!shares.allows(user, at: now))
        }
        for _ in 1...2 { for user in 1...16 as ClosedRange<UInt64> { shares.finish(user) } }
        #expect(shares.allows(1, at: now))
    }

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

    @Test func `a user's line is bounded, and his call past it is refused at once while others still join`()
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 8, log: LogRecorder().logger, random: { 0 })
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            let refused = Box<[String]>([])
            await withTaskGroup(of: Void.self) { group in
                func call(_ origin: CallOrigin, _ path: String) {
                    group.addTask(executorPreference: loop) {
                        do {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, request(path), .seconds(60))
                            }
                        } catch { refused.update { $0.append(path) } }
                    }
                }
                func settled() -> Int {
                    gate.snapshot.waiting.person + gate.snapshot.underWay.person + refused.value.count
                }
                guard let ana = try? user("ana"), let bia = try? user("bia") else { return }
                for _ in 0..<2 { call(ana, "/ana") }
                await wire.hasLeft(2)
                for _ in 0..<BelvoGate.lineOfUserMax { call(ana, "/ana") }
                while settled() < 2 + BelvoGate.lineOfUserMax { await Task.yield() }
                #expect(refused.value.isEmpty)
                call(ana, "/one-too-many")
                while settled() < 3 + BelvoGate.lineOfUserMax { await Task.yield() }
                #expect(refused.value == ["/one-too-many"], "one user's line is longer than its bound")
                // Three of bia's: two leave, and the third stands in line.
                for _ in 0..<3 { call(bia, "/bia") }
                while settled() < 6 + BelvoGate.lineOfUserMax { await Task.yield() }
                #expect(!refused.value.contains("/bia"))
                let all = 6 + BelvoGate.lineOfUserMax - refused.value.count
                for count in 1...all {
                    await wire.hasLeft(count)
                    wire.answer()
                }
            }
        }
    }

    @Test func `a user who has asked for little lately goes before those who have asked for much`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 8, log: LogRecorder().logger, random: { 0 })
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            try await withThrowingTaskGroup(of: Void.self) { group in
                func call(_ origin: CallOrigin, _ path: String) {
                    group.addTask(executorPreference: loop) {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(.readPaymentIntent, request(path), .seconds(60))
                        }
                    }
                }
                // Seven places are people's, two at a time each user's.
                for name in ["ana", "bia", "caio", "duda"] {
                    for _ in 0..<10 { call(try user(name), "/\(name)") }
                }
                while gate.snapshot.waiting.person + gate.snapshot.underWay.person < 40 { await Task.yield() }
                for count in 8...20 {
                    wire.answer()
                    await wire.hasLeft(count)
                }
                for _ in 0..<6 { call(try user("eva"), "/eva") }
                while gate.snapshot.waiting.person < 26 { await Task.yield() }
                // Each answer is to one of the others, until hers are the oldest.
                for count in 21...24 {
                    wire.answer()
                    await wire.hasLeft(count)
                }
                #expect(wire.left.suffix(4).prefix(2) == ["/eva", "/eva"])
                for count in 25...52 {
                    wire.answer()
                    await wire.hasLeft(min(46, count))
                }
                wire.answer()
                try await group.waitForAll()
            }
            // Rounds ahead are few: then she has one turn in each as the others.
            #expect(wire.left.dropFirst(20).prefix(16).count { $0 == "/eva" } == 6)
        }
    }

    @Test func `users whose calls are not answered leave most places to others`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            try await withThrowingTaskGroup(of: Void.self) { group in
                func call(_ origin: CallOrigin, _ path: String) {
                    group.addTask(executorPreference: loop) {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(.readEnrollment, request(path), .seconds(60))
                        }
                    }
                }
                for name in ["ana", "bia", "caio", "duda"] {
                    for _ in 0..<16 { call(try user(name), "/hangs") }
                }
                while gate.snapshot.waiting.person + gate.snapshot.underWay.person < 64 { await Task.yield() }
                #expect(gate.snapshot.underWay.person == 16)
                call(try user("eva"), "/eva")
                await wire.hasLeft(17)
                #expect(wire.left.last == "/eva")
                for count in 1...65 {
                    await wire.hasLeft(count)
                    wire.answer()
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a 429 to one user's own text silences him for such calls, and all when most hear it`()
        async throws
    {
        try await withLoop { loop in
            let clock = HandClock()
            let gate = BelvoGate(
                rate: 0, callsMax: 64, log: LogRecorder().logger, now: clock.intervals.now, random: { 0 })
            let carry = gate.carry(for: .person) { request, _ in
                guard request.target.path == "/throttled" else { return Response(.ok, body: Array("{}".utf8)) }
                var response = Response(.tooManyRequests)
                response.headers.append("retry-after", "3600")
                return response
            }
            let (ana, bia, caio, duda) = (try user("ana"), try user("bia"), try user("caio"), try user("duda"))
            @Sendable func call(_ call: Call, _ origin: CallOrigin, _ path: String = "/a") async throws {
                _ = try await CallOrigin.$current.withValue(origin) {
                    try await carry(call, request(path), .seconds(1))
                }
            }
            try await loop.task {
                try await call(.completeRedirection, ana, "/throttled")
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, ana) }
                try await call(.createPaymentIntent, ana)
                for other in [bia, caio, duda] { try await call(.completeRedirection, other) }
                #expect(gate.snapshot.quiet == nil)
                // Two are told to be silent, and two are let in.
                try await call(.completeRedirection, bia, "/throttled")
                #expect(gate.snapshot.quiet == nil)
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, bia) }
                try await call(.completeRedirection, caio, "/throttled")
                // What users were told keeps all silent for a minute; themselves for as long as they were told.
                #expect(gate.snapshot.quiet == .seconds(60))
                await #expect(throws: CallHeldBack.self) { try await call(.readEnrollment, duda) }
                clock.advance(by: .seconds(61))
                try await call(.completeRedirection, duda)
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, caio) }
                clock.advance(by: .seconds(3_601))
                try await call(.completeRedirection, ana)
                // A reading of one user's object; and a call that is the same for all.
                try await call(.readEnrollment, ana, "/throttled")
                #expect(gate.snapshot.quiet == nil)
                await #expect(throws: CallHeldBack.self) { try await call(.readEnrollment, ana) }
                try await call(.readEnrollment, bia)
                try await call(.mintWidgetToken, ana, "/throttled")
                #expect(gate.snapshot.quiet == .seconds(3_600))
            }.value
        }
    }

    @Test func `what fails in the background counts as its owner's, and for all when many are concerned`() async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .background) { _, _ in Response(.internalServerError) }
            @Sendable func read(_ origin: CallOrigin?) async {
                _ = try? await CallOrigin.$current.withValue(origin) {
                    try await carry(.readEnrollment, request("/e"), .seconds(1))
                }
            }
            let users = try (1...3).map { try user("user-\($0)") }
            try await loop.task {
                for origin in users { for _ in 0..<20 { await read(origin) } }
                #expect(gate.snapshot.circuit == .closed)
                for _ in 0..<20 { await read(.webhooks) }
            }.value
            #expect(gate.snapshot.circuit == .open)
        }
    }

    @Test func `401 to one user's own text locks nobody out, and to three users' it does`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { _, _ in Response(.unauthorized) }
            let names = ["ana", "ana", "ana", "ana", "ana", "bia", "bia", "caio"]
            var isLockedOut: [Bool] = []
            for name in names {
                let origin = try user(name)
                try await loop.task {
                    _ = try await CallOrigin.$current.withValue(origin) {
                        try await carry(.completeRedirection, request("/"), .seconds(1))
                    }
                }.value
                isLockedOut.append(gate.snapshot.isLockedOut)
            }
            #expect(isLockedOut == Array(repeating: false, count: 7) + [true])
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

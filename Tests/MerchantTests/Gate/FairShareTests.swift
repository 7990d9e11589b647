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
            let gate = BelvoGate.patient(callsMax: 8)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            let (ana, bia) = (try user("ana"), try user("bia"))
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, request(path), .seconds(60))
                            }
                        })
                }
                // Two of eight places at a time are one user's, and ana has them.
                for number in 1...6 { call(ana, "/a\(number)") }
                try await wire.hasLeft(2)
                #expect(gate.snapshot.waiting.person == 4)
                call(bia, "/b1")
                try await wire.hasLeft(3)
                #expect(wire.left.last == "/b1")
                #expect(gate.snapshot.underWay.person == 3)
                // Each that ends makes room for the next one of the same user.
                for (count, answered) in [(4, 1), (5, 1), (6, 2), (7, 1)] {
                    for _ in 0..<answered { wire.answer() }
                    try await wire.hasLeft(count)
                }
                for _ in 0..<2 { wire.answer() }
                for call in calls { try await call.value }
            }
            #expect(wire.left == ["/a1", "/a2", "/b1", "/a3", "/a4", "/a5", "/a6"])
        }
    }

    @Test func `a user's line is bounded, and his call past it is refused at once while others still join`()
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 8)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            let refused = Box<[String]>([])
            let (ana, bia) = (try user("ana"), try user("bia"))
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin, _ path: String) {
                    calls.append(
                        loop.task {
                            do {
                                _ = try await CallOrigin.$current.withValue(origin) {
                                    try await carry(.readPaymentIntent, request(path), .seconds(60))
                                }
                            } catch is CallHeldBack { refused.update { $0.append(path) } }
                        })
                }
                for _ in 0..<2 { call(ana, "/ana") }
                try await wire.hasLeft(2)
                for _ in 0..<BelvoGate.lineOfUserMax { call(ana, "/ana") }
                await loop.comeToRest()
                #expect(gate.snapshot.waiting.person == BelvoGate.lineOfUserMax)
                #expect(refused.value.isEmpty)
                call(ana, "/one-too-many")
                await loop.comeToRest()
                #expect(refused.value == ["/one-too-many"], "one user's line is longer than its bound")
                // Three of bia's: two leave, and the third stands in line.
                for _ in 0..<3 { call(bia, "/bia") }
                try await wire.hasLeft(4)
                #expect(gate.snapshot.waiting.person == BelvoGate.lineOfUserMax + 1)
                #expect(refused.value == ["/one-too-many"])
                wire.answerAll()
                await loop.comeToRest()
                try #require(gate.snapshot.waiting.person == 0, "calls wait for turns that nobody has")
                for call in calls { try await call.value }
            }
        }
    }

    @Test func `a user who has asked for little lately goes before those who have asked for much`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 8)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, request(path), .seconds(60))
                            }
                        })
                }
                // Seven places are people's, two at a time each user's.
                for name in ["ana", "bia", "caio", "duda"] {
                    for _ in 0..<10 { call(try user(name), "/\(name)") }
                }
                try await wire.hasLeft(7)
                #expect(gate.snapshot.waiting.person == 33)
                for count in 8...20 {
                    wire.answer()
                    try await wire.hasLeft(count)
                }
                for _ in 0..<6 { call(try user("eva"), "/eva") }
                await loop.comeToRest()
                #expect(gate.snapshot.waiting.person == 26)
                // Each answer is to one of the others, until hers are the oldest.
                for count in 21...24 {
                    wire.answer()
                    try await wire.hasLeft(count)
                }
                #expect(wire.left.suffix(4).prefix(2) == ["/eva", "/eva"])
                for count in 25...52 {
                    wire.answer()
                    try await wire.hasLeft(min(46, count))
                }
                wire.answer()
                for call in calls { try await call.value }
            }
            // Rounds ahead are few: then she has one turn in each as the others.
            #expect(wire.left.dropFirst(20).prefix(16).count { $0 == "/eva" } == 6)
        }
    }

    @Test func `a user who has not asked for long goes first for a few turns, and then takes turns`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 1)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            let (ana, eva) = (try user("ana"), try user("eva"))
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, request(path), .seconds(60))
                            }
                        })
                }
                for count in 1...20 {
                    call(ana, "/ana")
                    try await wire.hasLeft(count)
                    wire.answer()
                    await loop.comeToRest()
                }
                for _ in 0..<9 { call(ana, "/ana") }
                try await wire.hasLeft(21)
                for _ in 0..<8 { call(eva, "/eva") }
                await loop.comeToRest()
                try #require(gate.snapshot.waiting.person == 16)
                for count in 22...37 {
                    wire.answer()
                    try await wire.hasLeft(count)
                }
                wire.answer()
                for call in calls { try await call.value }
            }
            let turns = wire.left.dropFirst(21)
            // The rounds that she has ahead, and the present one.
            #expect(turns.prefix { $0 == "/eva" }.count == FairQueue.roundsAheadMax + 1)
            #expect(turns.dropFirst(FairQueue.roundsAheadMax + 1).prefix(4) == ["/ana", "/eva", "/ana", "/eva"])
        }
    }

    @Test func `however many come for the first time, a user without a turn for some seconds is one of them`()
        async throws
    {
        try await withLoop { loop in
            let clock = HandClock()
            let gate = BelvoGate.patient(callsMax: 1, now: clock.intervals.now)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ name: String) throws {
                    let origin = try user(name)
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, request("/\(name)"), .seconds(60))
                            }
                        })
                }
                try call("ana")
                try await wire.hasLeft(1)
                wire.answer()
                await loop.comeToRest()
                clock.advance(by: FairQueue.memory)
                try call("bia")
                try call("ana")
                for number in 1...8 { try call("new-\(number)") }
                await loop.comeToRest()
                try #require(gate.snapshot.waiting.person == 9)
                for count in 3...11 {
                    wire.answer()
                    try await wire.hasLeft(count)
                }
                wire.answer()
                for call in calls { try await call.value }
            }
            #expect(wire.left[2] == "/ana")
        }
    }

    @Test func `users whose calls are not answered leave most places to others`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 64)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readEnrollment, request(path), .seconds(60))
                            }
                        })
                }
                for name in ["ana", "bia", "caio", "duda"] {
                    for _ in 0..<16 { call(try user(name), "/hangs") }
                }
                await loop.comeToRest()
                #expect(gate.snapshot.underWay.person == 16)
                call(try user("eva"), "/eva")
                try await wire.hasLeft(17)
                #expect(wire.left.last == "/eva")
                for count in 1...65 {
                    try await wire.hasLeft(count)
                    wire.answer()
                }
                for call in calls { try await call.value }
            }
        }
    }

    @Test(arguments: [
        (Caller.person, Call.listEnrollments, 32), (.person, .mintWidgetToken, 16), (.background, .readEnrollment, 16),
    ])
    func `a path that hangs for many users leaves half of a caller's places to payments`(
        caller: Caller, hanging: Call, most: Int
    ) async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 64)
            let wire = Wire()
            let carry = gate.carry(for: caller, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func call(_ kind: Call, _ name: String, _ path: String) throws {
                let origin = try user(name)
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(kind, request(path), .seconds(60))
                        }
                    })
            }
            for number in 0..<60 { try call(hanging, "user-\(number)", "/hangs") }
            await loop.comeToRest()
            #expect(gate.snapshot.underWay[caller] == most)
            try call(caller == .person ? .readEnrollment : .readPaymentIntent, "eva", "/eva")
            try await wire.hasLeft(most + 1)
            #expect(wire.left.last == "/eva")
            for count in 1...61 {
                try await wire.hasLeft(count)
                wire.answer()
            }
            for call in calls { try await call.value }
        }
    }

    @Test func `a user past his rate waits for it, and others pass him`() async throws {
        try await withLoop { loop in
            let clock = HandClock()
            let gate = BelvoGate.patient(userRate: 50, callsMax: 64, now: clock.intervals.now)
            let sent = Box<[String]>([])
            let carry = gate.carry(for: .person) { request, _ in
                sent.update { $0.append(request.target.path) }
                return Response(.ok, body: Array("{}".utf8))
            }
            @Sendable func call(_ origin: CallOrigin, _ path: String) async throws {
                _ = try await CallOrigin.$current.withValue(origin) {
                    try await carry(.readPaymentIntent, request(path), .seconds(60))
                }
            }
            let (ana, bia, caio) = (try user("ana"), try user("bia"), try user("caio"))
            let slow = loop.task { for _ in 0..<110 { try await call(ana, "/ana") } }
            await loop.comeToRest()
            try #require(gate.snapshot.waiting.person == 1)
            #expect(sent.value.count == 100)
            for _ in 0..<100 { try await call(bia, "/bia") }
            #expect(sent.value.count { $0 == "/bia" } == 100)
            // 10 of hers are left, at 50 a second.
            for number in 1...10 {
                clock.advance(by: .milliseconds(19))
                try await call(caio, "/caio")
                await loop.comeToRest()
                #expect(sent.value.count { $0 == "/ana" } == 99 + number, "a user's rate is exceeded")
                clock.advance(by: .milliseconds(1))
                try await call(caio, "/caio")
                await loop.comeToRest()
                try #require(sent.value.count { $0 == "/ana" } == 100 + number, "a user's turn is not given")
            }
            try await slow.value
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

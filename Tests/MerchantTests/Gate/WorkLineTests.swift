import Belvo
import HTTP
import MerchantModel
import Payments
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Workers wait for their turns before Belvo in lines of their own, and so do people's calls that begin something.
@Suite(.timeLimit(.minutes(1))) struct WorkLineTests {
    @Test func `readings of what webhooks invent keep polls and true webhooks waiting for one turn each`() async throws
    {
        try await flood(by: .storedWebhooks, keepsWaitingForATurn: [("/true", .webhooks), ("/poll", nil)])
    }

    @Test func `readings of what webhooks name keep polls waiting for one turn each`() async throws {
        try await flood(by: .webhooks, keepsWaitingForATurn: [("/poll", nil)])
    }

    private func flood(
        by flooding: CallOrigin, keepsWaitingForATurn others: [(path: String, origin: CallOrigin?)]
    ) async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 4)
            let wire = Wire()
            let carry = gate.carry(for: .background, by: wire.send)
            do {
                var calls: [Task<Void, any Error>] = []
                defer { wire.answerAll() }
                func call(_ origin: CallOrigin?, _ path: String) {
                    calls.append(
                        loop.task {
                            _ = try await CallOrigin.$current.withValue(origin) {
                                try await carry(.readPaymentIntent, Request(.get, Target(path: path)), .seconds(60))
                            }
                        })
                }
                for number in 1...12 { call(flooding, "/flood\(number)") }
                await loop.comeToRest()
                let atOnce = wire.left.count
                for other in others { call(other.origin, other.path) }
                await loop.comeToRest()
                let turns = others.count * 2
                for count in 1...turns {
                    wire.answer()
                    try await wire.hasLeft(atOnce + count)
                }
                #expect(Set(wire.left[atOnce..<atOnce + turns]).isSuperset(of: others.map(\.path)))
                wire.answerAll()
                for call in calls { try await call.value }
            }
        }
    }

    @Test func `where people begin more than Belvo's budget holds, two calls that go on leave for each that begins`()
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 2)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func call(_ call: Call, _ name: String) throws {
                let origin = try CallOrigin.user(UserSubject(name))
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(call, Request(.post, Target(path: "/\(call)")), .seconds(60))
                        }
                    })
            }
            for number in 1...20 { try call(.createPaymentIntent, "beginner-\(number)") }
            await loop.comeToRest()
            for number in 1...10 { try call(.authorizePaymentIntent, "signer-\(number)") }
            await loop.comeToRest()
            let before = wire.left.count
            for count in 1...12 {
                wire.answer()
                try await wire.hasLeft(before + count)
            }
            #expect(wire.left.suffix(12).count { $0 == "/authorizePaymentIntent" } == 8)
            wire.answerAll()
            for call in calls { try await call.value }
        }
    }

    @Test(arguments: [false, true])
    func `an enrollment that is read for what was begun does not wait with those read before a payment`(
        goesOn: Bool
    ) async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 2)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func read(_ name: String, goesOn: Bool = false) throws {
                let origin = try CallOrigin.user(UserSubject(name))
                calls.append(
                    loop.task {
                        func read() async throws {
                            _ = try await carry(.readEnrollment, request("/\(name)"), .seconds(60))
                        }
                        try await CallOrigin.$current.withValue(origin) {
                            if goesOn { try await CallOrigin.goingOn(read) } else { try await read() }
                        }
                    })
            }
            for number in 1...10 { try read("payer-\(number)") }
            await loop.comeToRest()
            try read("eva", goesOn: goesOn)
            await loop.comeToRest()
            let before = wire.left.count
            wire.answer()
            try await wire.hasLeft(before + 1)
            #expect((wire.left.last == "/eva") == goesOn)
            wire.answerAll()
            for call in calls { try await call.value }
        }
    }

    @Test func `readings that hang keep no more places than their user has, whichever worker makes them`() async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 64)
            let wire = Wire()
            let carry = gate.carry(for: .background, by: wire.send)
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
                let ana = try UserSubject("ana")
                for number in 1...20 {
                    call(CallOrigin.webhooks.reading(of: ana), "/hook\(number)")
                    call(.user(ana), "/poll\(number)")
                }
                for number in 1...20 { call(.storedWebhooks, "/invented\(number)") }
                await loop.comeToRest()
                #expect(wire.left.count == 4 + 8)
                call(try user("bia"), "/bia")
                await loop.comeToRest()
                #expect(wire.left.last == "/bia")
                wire.answerAll()
                for call in calls { try await call.value }
            }
        }
    }

    @Test func `what webhooks name that was read in vain before keeps no place from what comes for the first time`() {
        var shares = WorkShares(callsMax: 64)
        func taken(_ party: UInt64) -> Int {
            var count = 0
            while shares.allows(party) {
                shares.take(party)
                count += 1
            }
            return count
        }
        #expect(taken(CallOrigin.webhooks.again.party) == 4)
        #expect(taken(CallOrigin.webhooks.party) == 8)
        #expect(CallOrigin.storedWebhooks.again.workLine == CallOrigin.storedWebhooks.workLine)
    }
}

import Belvo
import HTTP
import MerchantModel
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Users whose calls fail at Belvo keep no others waiting by what their apps repeat, and have their turns.
@Suite(.timeLimit(.minutes(1))) struct FailingUserTests {
    @Test(arguments: [Caller.person, .background])
    func `of the turns for which others wait, users whose calls fail have one in four`(caller: Caller)
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 2)
            let wire = Wire()
            let isIll = Box(true)
            let carry = gate.carry(for: caller) { request, limit in
                if isIll.value {
                    return Response(request.target.path.hasPrefix("/ill") ? .internalServerError : .ok)
                }
                return try await wire.send(request, limit)
            }
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
            // Each has had turns before.
            for _ in 0..<2 {
                for number in 1...8 { try call("ill-\(number)") }
                for number in 1...6 { try call("well-\(number)") }
                for call in calls { try await call.value }
            }
            isIll.update { $0 = false }
            calls = []
            try call("eva")
            await loop.comeToRest()
            for number in 1...8 { try call("ill-\(number)") }
            for number in 1...6 { try call("well-\(number)") }
            for count in 1...15 {
                try await wire.hasLeft(count)
                wire.answer()
            }
            for call in calls { try await call.value }
            let kinds = wire.left.dropFirst().prefix(8).map { $0.hasPrefix("/ill") ? "i" : "w" }
            #expect(kinds.joined() == "wwwiwwwi")
        }
    }

    /// Users of a gate of 64 places beside one who is answered, and how they fare.
    private struct Scene {
        var users = FailingUsers(callsMax: 64)
        let now = Monotonic(nanoseconds: 0)

        init() { note(.answered, of: 1) }

        func place(_ user: UInt64, at bank: UInt64 = 7) -> CallLines.Place {
            CallLines.Place(line: 0, subject: .payments, party: user, institution: bank)
        }

        mutating func note(_ outcome: CallOutcome.Kind, isChanging: Bool = true, of user: UInt64) {
            users.note(outcome, isChanging: isChanging, .person, place(user), at: now)
        }

        func comesBehind(_ user: UInt64, at bank: UInt64 = 7) -> Bool {
            users.areOthersFirst(.person, place(user, at: bank), at: now)
        }
    }

    @Test func `one call that fails puts a user behind no others, and the second does`() {
        var scene = Scene()
        for user in [2, 3, 4] as [UInt64] { scene.note(.failed, of: user) }
        #expect(!scene.comesBehind(2))
        scene.note(.answered, of: 2)
        // What is looked up in between says nothing of what is sent.
        scene.note(.answered, isChanging: false, of: 3)
        for user in [2, 3] as [UInt64] { scene.note(.failed, of: user) }
        #expect(!scene.comesBehind(2))
        #expect(scene.comesBehind(3))
        scene.note(.failed, isChanging: false, of: 4)
        #expect(!scene.comesBehind(4))
        scene.note(.timedOut, of: 4)
        #expect(scene.comesBehind(4))
    }

    @Test func `a user whose calls fail at one bank comes behind no others at another`() {
        var scene = Scene()
        for _ in 0..<2 { scene.note(.failed, of: 2) }
        #expect(scene.comesBehind(2))
        #expect(!scene.comesBehind(2, at: 8))
    }

    @Test func `people whose calls fail take turns with workers, and others have four of five`() {
        func turns(arePeopleFailing: Bool) -> String {
            var limiter = CallLimiter(rate: 10, callsMax: 64)
            return (1...30).compactMap { tick in
                limiter.next(
                    waiting: { $0 != .stranger }, arePeopleFailing: arePeopleFailing,
                    at: Monotonic(nanoseconds: 0) + .milliseconds(100 * tick + 1)
                ).map { $0 == .person ? "p" : "b" }
            }.joined()
        }
        #expect(turns(arePeopleFailing: false).hasPrefix("ppppbppppb"))
        #expect(turns(arePeopleFailing: true).hasPrefix("pbpbpbpb"))
    }
}

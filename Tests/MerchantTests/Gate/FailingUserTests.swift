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
    func `of the turns for which others wait, users whose last call failed have one in four`(caller: Caller)
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
            // Each has had a turn before.
            for number in 1...8 { try call("ill-\(number)") }
            for number in 1...6 { try call("well-\(number)") }
            for call in calls { try await call.value }
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

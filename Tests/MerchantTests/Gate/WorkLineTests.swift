import Belvo
import HTTP
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Workers wait for their turns before Belvo in lines of their own.
@Suite(.timeLimit(.minutes(1))) struct WorkLineTests {
    @Test func `readings of what webhooks invent keep polls and true webhooks waiting for one turn each`() async throws
    {
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
                for number in 1...12 { call(.storedWebhooks, "/invented\(number)") }
                await loop.comeToRest()
                let atOnce = wire.left.count
                call(.webhooks, "/true")
                call(nil, "/poll")
                await loop.comeToRest()
                for count in 1...4 {
                    wire.answer()
                    try await wire.hasLeft(atOnce + count)
                }
                #expect(Set(wire.left[atOnce..<atOnce + 4]).isSuperset(of: ["/true", "/poll"]))
                wire.answerAll()
                for call in calls { try await call.value }
            }
        }
    }
}

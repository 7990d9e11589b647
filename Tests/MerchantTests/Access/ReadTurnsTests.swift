import MerchantModel
import Payments
import TestSupport
import Testing

@testable import MerchantAPI

/// One user's reads are answered one after the other, and keep no other user waiting.
@Suite struct ReadTurnsTests {
    @Test func `of one user one read is answered at a time, in their order, and another user's beside it`()
        async throws
    {
        let turns = ReadTurns()
        let (ana, bia) = (try UserSubject("ana"), try UserSubject("bia"))
        let (begun, gate) = (Gate(), Gate())
        let order = Box<[Int]>([])
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await turns.run(for: ana) {
                    begun.open()
                    await gate.pass()
                    order.update { $0.append(1) }
                }
            }
            await begun.pass()
            group.addTask { try await turns.run(for: ana) { order.update { $0.append(2) } } }
            try await turns.run(for: bia) { order.update { $0.append(0) } }
            #expect(order.value == [0])
            gate.open()
            try await group.waitForAll()
        }
        #expect(order.value == [0, 1, 2])
        try await turns.run(for: ana) {}
    }
}

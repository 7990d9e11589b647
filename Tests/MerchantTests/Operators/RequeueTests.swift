import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import MerchantServer

/// `merchant requeue`: an operator wants a record to be polled now.
@Suite struct RequeueTests {
    @Test func `a payment given up here and paid at Belvo is corrected by the next pass, and rests again`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await harness.pass(.seconds(361))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            let queued = try await harness.operate { try await $0.requeue("order-1") }
            #expect(queued == ["payment \(payment.id)"])
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await harness.lines("SELECT what AS line FROM ops.workload WHERE pending > 0").isEmpty)
            #expect(
                try await harness.lines("SELECT id::text AS line FROM payments WHERE next_poll_at IS NOT NULL").isEmpty)
        }
    }

    @Test func `what Belvo has nothing new about rests again after its look`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await harness.pass(.seconds(361))
            for id in [payment.id, enrollment.id] {
                #expect(try await harness.operate { try await $0.requeue(id) }.count == 1)
            }
            try await harness.work()
            #expect(try await client.payment(payment).string("failure_code") == "timed_out")
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
            let due = try await harness.lines(
                """
                SELECT id::text AS line FROM payments WHERE next_poll_at IS NOT NULL
                UNION ALL SELECT id::text FROM enrollments WHERE next_poll_at IS NOT NULL
                """)
            #expect(due.isEmpty)
        }
    }

    @Test func `a payment in doubt need not wait for its next poll`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.pass(.seconds(3_600))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.work()
            #expect(try await client.payment(payment).raw("in_doubt") == "true")
            try await harness.operate { try await $0.requeue(payment.belvoID) }
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a webhook is worked on again`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            let receipt = try await harness.lines(
                "SELECT id::text AS line FROM webhook_receipts WHERE outcome = 'done'")
            try harness.sandbox.settle(intent: payment.belvoID)
            #expect(try await harness.operate { try await $0.requeue(receipt[0]) } == ["webhook \(receipt[0])"])
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `an event that was parked is sent again`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                shop.isAway = true
                var client = try await AppClient.arrive(on: harness)
                _ = try await client.enroll()
                for _ in 0..<3 { try await harness.pass(.seconds(90_000)) }
                let parked = try await harness.lines(
                    "SELECT id::text AS line FROM ops.events_undelivered WHERE parked_at IS NOT NULL")
                #expect(parked.count == 1)
                #expect(harness.log.holds("event.parked"))
                shop.isAway = false
                try await harness.pass(.seconds(86_400))
                #expect(shop.types.isEmpty)
                #expect(try await harness.operate { try await $0.requeue(parked[0]) } == ["event \(parked[0])"])
                try await harness.work()
                #expect(shop.types == ["enrollment.succeeded"])
                #expect(try await harness.lines("SELECT id::text AS line FROM ops.events_undelivered").isEmpty)
                let life = try await harness.operate { try await $0.inspect(parked[0]) }
                #expect(life.first?.facts.contains { $0.name == "delivered_at" } == true)
            }
        }
    }

    @Test func `what nobody knows, or what cannot be done again, is said to be nothing`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            _ = try await client.reachFingerprint()
            #expect(try await harness.operate { try await $0.requeue("order-9") }.isEmpty)
            // A redirect's code is gone as soon as Belvo has it.
            let receipt = try await harness.lines("SELECT id::text AS line FROM redirect_receipts")
            #expect(try await harness.operate { try await $0.requeue(receipt[0]) }.isEmpty)
        }
    }
}

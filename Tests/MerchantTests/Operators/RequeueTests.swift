import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import Merchant

/// `merchant requeue`: somebody at night wants a record looked at now.
@Suite struct RequeueTests {
    @Test func `a payment given up here and paid at Belvo is corrected by the next pass, and rests again`() async throws
    {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(shopper.enroll())
            try await stage.pass(.seconds(361))
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.work()
            #expect(try await shopper.payment(bill).string("status") == "FAILED")
            let queued = try await stage.operate { try await $0.requeue("order-1") }
            #expect(queued == ["payment \(bill.id)"])
            try await stage.work()
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
            #expect(try await stage.lines("SELECT what AS line FROM ops.workload WHERE pending > 0").isEmpty)
            #expect(
                try await stage.lines("SELECT id::text AS line FROM payments WHERE next_poll_at IS NOT NULL").isEmpty)
        }
    }

    @Test func `what Belvo has nothing new about rests again after its look`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await stage.pass(.seconds(361))
            for id in [bill.id, bond.id] {
                #expect(try await stage.operate { try await $0.requeue(id) }.count == 1)
            }
            try await stage.work()
            #expect(try await shopper.payment(bill).string("failure_code") == "timed_out")
            #expect(try await shopper.enrollment(bond).string("status") == "SUCCEEDED")
            let due = try await stage.lines(
                """
                SELECT id::text AS line FROM payments WHERE next_poll_at IS NOT NULL
                UNION ALL SELECT id::text FROM enrollments WHERE next_poll_at IS NOT NULL
                """)
            #expect(due.isEmpty)
        }
    }

    @Test func `a payment in doubt need not wait for its next look`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(shopper.enroll())
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(3_600))
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.work()
            #expect(try await shopper.payment(bill).raw("in_doubt") == "true")
            try await stage.operate { try await $0.requeue(bill.belvoID) }
            try await stage.work()
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a webhook is worked on again`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(shopper.enroll())
            try await shopper.authorize(bill)
            try await stage.tell("PAYMENT_INTENTS", of: bill.belvoID)
            try await stage.work()
            let receipt = try await stage.lines("SELECT id::text AS line FROM webhook_receipts WHERE outcome = 'done'")
            try stage.sandbox.settle(intent: bill.belvoID)
            #expect(try await stage.operate { try await $0.requeue(receipt[0]) } == ["webhook \(receipt[0])"])
            try await stage.work()
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }

    @Test func `an event that was parked is sent again`() async throws {
        try await ShopDouble.serving { shop in
            try await Stage.open(environment: shop.environment) { stage in
                shop.isAway = true
                var shopper = try await Shopper.arrive(on: stage)
                _ = try await shopper.enroll()
                for _ in 0..<3 { try await stage.pass(.seconds(90_000)) }
                let parked = try await stage.lines(
                    "SELECT id::text AS line FROM ops.events_undelivered WHERE parked_at IS NOT NULL")
                #expect(parked.count == 1)
                #expect(stage.log.holds("event.parked"))
                shop.isAway = false
                try await stage.pass(.seconds(86_400))
                #expect(shop.types.isEmpty)
                #expect(try await stage.operate { try await $0.requeue(parked[0]) } == ["event \(parked[0])"])
                try await stage.work()
                #expect(shop.types == ["enrollment.succeeded"])
                #expect(try await stage.lines("SELECT id::text AS line FROM ops.events_undelivered").isEmpty)
                let life = try await stage.operate { try await $0.inspect(parked[0]) }
                #expect(life.first?.facts.contains { $0.name == "delivered_at" } == true)
            }
        }
    }

    @Test func `what nobody knows, or what cannot be done again, is said to be nothing`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            _ = try await shopper.reachFingerprint()
            #expect(try await stage.operate { try await $0.requeue("order-9") }.isEmpty)
            // A redirect's code is gone as soon as Belvo has it.
            let receipt = try await stage.lines("SELECT id::text AS line FROM redirect_receipts")
            #expect(try await stage.operate { try await $0.requeue(receipt[0]) }.isEmpty)
        }
    }
}

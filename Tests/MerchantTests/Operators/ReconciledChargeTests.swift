import BelvoSandbox
import FoundationEssentials
import Payments
import Postgres
import Testing

@testable import MerchantModel

// The charges of a day.
extension ReconcileTests {
    @Test func `a payment that Belvo has charged twice is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            var paid: [AppClient.OpenedPayment] = []
            for number in 1...2 {
                let payment = try await client.openPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                paid.append(payment)
            }
            try await harness.poll()
            #expect(try await reconcile(harness).isEmpty)
            harness.sandbox.next(
                .altered([.init("/results/*/payment_intent", #""\#(paid[0].belvoID)""#)]), on: .listCharges, count: nil)
            let twice = try await reconcile(harness).filter { $0.kind == .chargedTwice }
            #expect(twice.map { $0.payment?.uuidString.lowercased() } == [paid[0].id])
            #expect(twice.map(\.theirs) == ["2 charges"])
        }
    }

    @Test(arguments: [Endpoint.listCharges, .listPaymentIntents])
    func `a payment that Belvo has charged on two days is found on either`(ofAnotherDay: Endpoint) async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let transfer = try await harness.lines("SELECT end_to_end_id AS line FROM payments")[0]
            let charges = [UUID(), UUID()].map {
                """
                {"id": "\($0)", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "\(transfer)"}}}
                """
            }
            let both = "[\(charges.joined(separator: ", "))]"
            let old = Fault.Alteration("/results/*/created_at", #""2026-01-01T00:00:00Z""#)
            harness.sandbox.next(.altered([Fault.Alteration("/charges", both)]), on: .getPaymentIntent, count: nil)
            var listed = [Fault.Alteration("/results/*/charges", both)]
            if ofAnotherDay == .listPaymentIntents {
                listed.append(old)
            } else {
                harness.sandbox.next(.altered([old]), on: .listCharges)
            }
            harness.sandbox.next(.altered(listed), on: .listPaymentIntents)
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.chargedTwice])
            #expect(found.first?.payment?.uuidString.lowercased() == payment.id)
        }
    }

    @Test func `a payment that Belvo has charged on two days is found where its intent shows no charges`() async throws
    {
        try await atNoon { harness in
            let payment = try await Self.paidAnotherDay(harness)
            let charges = [UUID(), UUID()].map {
                #"{"id": "\#($0)", "status": "SUCCEEDED", "payment_intent": "\#(payment.belvoID)"}"#
            }
            let both = Fault.Alteration("/results", "[\(charges.joined(separator: ", "))]")
            harness.sandbox.next(.altered([both]), on: .listIntentCharges)
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.chargedTwice])
            #expect(found.first?.payment?.uuidString.lowercased() == payment.id)

            harness.sandbox.next(.refused(500, code: "broken"), on: .listIntentCharges)
            #expect(try await reconcile(harness).map(\.kind) == [.unreadable])
            // Its only charge is the one of this day.
            #expect(try await reconcile(harness).isEmpty)
        }
    }

    @Test func `a charge that failed on another day than a payment was paid is no difference`() async throws {
        try await atNoon { harness in
            let payment = try await Self.paidAnotherDay(harness)
            let failed = Fault.Alteration(
                "/results",
                #"[{"id": "\#(UUID())", "status": "FAILED", "payment_intent": "\#(payment.belvoID)"}]"#)
            harness.sandbox.next(.altered([failed]), on: .listCharges, count: nil)
            #expect(try await reconcile(harness).isEmpty)
        }
    }

    /// A payment that is paid, whose intent Belvo shows from now on as one of another day and without its charges.
    private static func paidAnotherDay(_ harness: TestHarness) async throws -> AppClient.OpenedPayment {
        var client = try await AppClient.arrive(on: harness)
        let payment = try await client.openPayment(client.enroll())
        try await client.authorize(payment)
        try harness.sandbox.settle(intent: payment.belvoID)
        try await harness.poll()
        let old = Fault.Alteration("/results/*/created_at", #""2026-01-01T00:00:00Z""#)
        harness.sandbox.next(.altered([old]), on: .listPaymentIntents, count: nil)
        harness.sandbox.next(.altered([Fault.Alteration("/charges", "[]")]), on: .getPaymentIntent, count: nil)
        return payment
    }

    @Test func `a charge that a later page shows again was made once`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            var paid: [AppClient.OpenedPayment] = []
            for number in 1...2 {
                let payment = try await client.openPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                paid.append(payment)
            }
            try await harness.poll()
            harness.sandbox.next(
                .altered([
                    .init("/results/*/id", #""5bd3ec94-0d02-4f23-8d5d-1c4f1e1c0c11""#),
                    .init("/results/*/payment_intent", #""\#(paid[0].belvoID)""#),
                ]), on: .listCharges, count: nil)
            harness.sandbox.next(
                .altered([.init("/results/*/charges/*/id", #""5bd3ec94-0d02-4f23-8d5d-1c4f1e1c0c11""#)]),
                on: .listPaymentIntents, count: nil)
            #expect(try await reconcile(harness).isEmpty)
        }
    }

    @Test func `a payment whose only charge has failed is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            harness.sandbox.next(
                .altered([.init("/results/*/status", #""FAILED""#)]), on: .listCharges, count: nil)
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.chargeStatus])
            #expect(found.map(\.theirs) == ["FAILED"])
            #expect(found.map { $0.payment?.uuidString.lowercased() } == [payment.id])
        }
    }
}

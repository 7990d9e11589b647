import BelvoSandbox
import HTTP
import JSON
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore

/// `merchant inspect`: one record's life, by any of its ids and names.
@Suite struct InspectTests {
    @Test func `a payment's whole life is shown in order, with who and under which request, by any of its names`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let opened = try await client.app.send(
                .post, "/v1/payment-intents", client.paymentBody(enrollment),
                headers: ["idempotency-key": "tap-1", "x-request-id": "the-tap"])
            let payment = AppClient.OpenedPayment(
                id: try opened.string("id"), belvoID: try opened.string("belvo_id"), answer: opened)
            _ = try await client.app.send(
                .post, "/v1/payment-intents/\(payment.id)/authorize", client.authorization(of: payment),
                headers: ["x-request-id": "the-finger"])
            try await harness.pass(.seconds(121))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.advance(by: .milliseconds(1))
            try await harness.work()

            let found = try await harness.operate { try await $0.inspect(payment.id) }
            let shown = try #require(found.first)
            #expect(found.count == 1)
            #expect(shown.kind == .payment)
            #expect(shown.timeline.map(\.moment) == shown.timeline.map(\.moment).sorted())
            #expect(
                Set(shown.timeline.map { "\($0.who): \($0.what) [\($0.requestID ?? "")]" }) == [
                    "app: idempotency key claimed for POST /v1/payment-intents, answered 201 []",
                    "app: creating [the-tap]",
                    "app: creating → awaiting_signature (reported) [the-tap]",
                    "app: awaiting_signature → authorizing (authorization_sent) [the-finger]",
                    "poller: authorizing → in_doubt (timed_out) []",
                    "belvo: webhook PAYMENT_INTENTS STATUS_UPDATE received 1 times, now done []",
                    "webhook: in_doubt → succeeded (reported) []",
                ])
            let facts = Dictionary(uniqueKeysWithValues: shown.facts.map { ($0.name, $0.value) })
            #expect(facts["amount"] == "19.90")
            #expect(facts["state"] == "succeeded")
            #expect(facts["subject"] == "ana")
            let endToEnd = try #require(facts["end_to_end_id"])

            for name in [payment.id.uppercased(), payment.belvoID, endToEnd, "order-1"] {
                let again = try await harness.operate { try await $0.inspect(name) }
                #expect(again.map(\.text) == [shown.text], "by \(name)")
            }
            #expect(try await harness.operate { try await $0.inspect("order-9") }.isEmpty)
            #expect(try await harness.operate { try await $0.inspect("") }.isEmpty)
        }
    }

    @Test func `an enrollment shows the bank's redirect, and a user's id leads to all of theirs`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let found = try await harness.operate { try await $0.inspect(enrollment.belvoID) }
            let what = found.flatMap(\.timeline).map(\.what)
            #expect(what.contains("redirect received, now taken"))
            #expect(what.contains { $0.hasPrefix("at_bank → completing") })
            let customers = try await harness.operate { try await $0.inspect("ana") }
            #expect(customers.map(\.kind) == [.customer, .enrollment])
            let receipts = try await harness.lines("SELECT id::text AS line FROM redirect_receipts")
            let receipt = try await harness.operate { try await $0.inspect(receipts[0]) }
            #expect(receipt.map(\.kind) == [.redirect])
        }
    }

    @Test func `nothing that is shown is secret or tells who somebody is, and as JSON it is the same`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            try await harness.work()
            let receipts = try await harness.lines("SELECT id::text AS line FROM webhook_receipts")
            let secrets = [
                "Ana Souza", "52998224725", "529.982", "ana@example.com", "5511987654321", client.deviceID,
                "ciphertext", "digest", "lookup", "challenge", "\\x",
            ]
            for id in ["ana", enrollment.id, payment.id] + receipts {
                let found = try await harness.operate { try await $0.inspect(id) }
                #expect(found.count == (id == "ana" ? 3 : 1))
                for text in [found.map(\.text).joined(), found.json] {
                    for secret in secrets { #expect(!text.contains(secret), "\(id) shows \(secret)") }
                }
                let root = try JSONDocument(parsing: Array(found.json.utf8)).root
                let record = try #require(root["records"]?.elements.first { _ in true })
                #expect(record["kind"]?.string == found[0].kind.rawValue)
                #expect(record["timeline"]?.elements.map { $0 }.count == found[0].timeline.count)
                #expect(record["facts"]?["id"]?.string == found[0].facts.first { $0.name == "id" }?.value)
            }
        }
    }
}

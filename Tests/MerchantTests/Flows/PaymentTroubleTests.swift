import Belvo
import BelvoSandbox
import HTTP
import Payments
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// Paying while the way to Belvo is bad.
@Suite struct PaymentTroubleTests {
    @Test func `a payment whose creation was not answered is looked up at once`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (number, doubt) in (Trouble.doubts + [Trouble.missingID]).enumerated() where doubt.isDone {
                let (reference, key) = ("order-\(number)", "tap-\(number)")
                let looks = harness.countCalls(.listPaymentIntents)
                harness.sandbox.next(doubt.fault, on: .createPaymentIntent)
                let answer = try await client.requestPayment(enrollment, reference: reference, key: key)
                #expect(answer.status == 201, "\(doubt.name)")
                #expect(try answer.string("next_action", "type") == "sign", "\(doubt.name)")
                #expect(harness.countCalls(.listPaymentIntents) == looks + 1, "\(doubt.name)")
                let again = try await client.requestPayment(enrollment, reference: reference, key: key)
                #expect(again.response.body == answer.response.body, "\(doubt.name)")
                #expect(again.response.headers["idempotent-replayed"] == "true", "\(doubt.name)")
                #expect(harness.sandbox.countIntents(externalID: try answer.string("id")).created == 1)
            }
        }
    }

    @Test func `a look-up is not waited for longer than two seconds, and is not repeated`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            harness.sandbox.next(.delayAnswer(.seconds(8)), on: .listPaymentIntents)
            let start = ContinuousClock.now
            #expect(try await client.requestPayment(enrollment).status == 202)
            // Without its bound it would wait for the whole eight.
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(harness.countCalls(.listPaymentIntents) == 1)
            try await harness.poll()
            #expect(try await client.requestPayment(enrollment).string("next_action", "type") == "sign")
        }
    }

    @Test(arguments: [("SUCCEEDED", 204), ("FAILED", 422)])
    func `a signature that was not answered is read once, and its end counts`(end: String, status: Int) async throws {
        try await TestHarness.open { harness in
            if end == "SUCCEEDED" { harness.sandbox.variants.paymentSettlement = .immediately }
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            if end == "FAILED" { try harness.sandbox.fail(intent: payment.belvoID) }
            harness.sandbox.next(.dropAnswer, on: .authorizePaymentIntent)
            let answer = try await client.authorize(payment)
            #expect(answer.status == status)
            if end == "FAILED" { #expect(try answer.string("code") == "payment_failed") }
            #expect(try await client.payment(payment).string("status") == end)
            #expect(harness.countCalls(.authorizePaymentIntent) == 1)
            #expect(harness.countCalls(.getPaymentIntent) == 1)
        }
    }

    @Test func `a payment whose creation was not answered is found by its external id, or fails as lost`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (number, doubt) in (Trouble.doubts + [Trouble.missingID]).enumerated() {
                let (reference, key) = ("order-\(number)", "tap-\(number)")
                harness.sandbox.next(doubt.fault, on: .createPaymentIntent)
                harness.sandbox.next(.refused(500, code: "unexpected"), on: .listPaymentIntents, count: 2)
                let answer = try await client.requestPayment(enrollment, reference: reference, key: key)
                #expect(answer.status == 202, "\(doubt.name): \(answer.text)")
                #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                let id = try answer.string("id")
                #expect(
                    try await client.requestPayment(enrollment, reference: reference, key: key).status == 202,
                    "\(doubt.name)")
                // Another request for the same reference waits for what became of the first.
                let other = try await client.requestPayment(enrollment, reference: reference, key: "other-\(number)")
                #expect(other.status == 409, "\(doubt.name)")
                #expect(try other.string("payment_intent") == id, "\(doubt.name)")

                try await harness.poll()
                let found = try await client.payment(id)
                #expect(try found.string("next_action", "type") == (doubt.isDone ? "sign" : "poll"), "\(doubt.name)")
                try await harness.pass(.seconds(60))
                let again = try await client.requestPayment(enrollment, reference: reference, key: key)
                #expect(again.status == 201, "\(doubt.name)")
                #expect(try again.string("id") == id, "\(doubt.name)")
                #expect(try again.string("status") == (doubt.isDone ? "PENDING" : "FAILED"), "\(doubt.name)")
                if !doubt.isDone { #expect(try again.string("failure_code") == "creation_lost") }
                #expect(harness.sandbox.countIntents(externalID: id).created == (doubt.isDone ? 1 : 0), "\(doubt.name)")
            }
        }
    }

    @Test func `a creation is not lost while Belvo lists what may be it under another name`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let other = try await client.requestPayment(enrollment, reference: "order", key: "tap").string("id")
            let known = try #require(
                try await harness.merchant.dependencies.belvo.findPaymentIntents(externalID: other).named.first)
            let unknown = "99999999-9999-4999-8999-999999999998"
            let lists: [(body: String, isLost: Bool)] = [
                (listing(known, id: unknown, name: #""another""#), false),
                (listing(known, id: unknown, name: "null"), false),
                (listing(known, id: unknown, name: #""another""#, status: "SUCCEEDED"), false),
                // These are other payments, or cannot be paid any more.
                (listing(known, id: known.id.description, name: #""another""#), true),
                (listing(known, id: unknown, name: "\"\(other)\""), true),
                (listing(known, id: unknown, name: #""another""#, status: "FAILED"), true),
                (listing(known, id: unknown, name: #""another""#, centavos: 1), true),
            ]
            for (number, list) in lists.enumerated() {
                // What is listed and is another payment shows this one absent: then it is sent again, and lost again.
                harness.sandbox.next(.dropRequest, on: .createPaymentIntent, count: list.isLost ? 2 : 1)
                harness.sandbox.next(
                    .status(200, body: list.body, contentType: "application/json", headers: [:]),
                    on: .listPaymentIntents, count: nil)
                let opened = try await client.requestPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                #expect(opened.status == 202)
                let id = try opened.string("id")
                try await harness.pass(.seconds(76))
                let status = try await client.payment(id).string("status")
                #expect(status == (list.isLost ? "FAILED" : "PENDING"), "\(list.body)")
                // When nothing like it is listed any more, it is lost after all.
                harness.sandbox.clearFaults()
                try await harness.pass(.seconds(3_600))
                #expect(try await client.payment(id).string("failure_code") == "creation_lost", "\(list.body)")
            }
            #expect(harness.log.holds("payment.name_differs"))
        }
    }

    /// A list of one intent, which is like this one but for its id, its name and its status.
    private func listing(
        _ intent: Belvo.PaymentIntent, id: String, name: String, status: String = "PENDING", centavos: Int64? = nil
    ) -> String {
        let parties = (intent.customer?.description ?? "", intent.enrollment?.description ?? "")
        let account = intent.beneficiaryBankAccount?.description ?? ""
        let amount = Money(centavos: centavos ?? intent.amountCentavos ?? 0)
        return """
            [{"id":"\(id)","external_id":\(name),"status":"\(status)","amount":"\(amount)","currency":"BRL",
            "customer":"\(parties.0)","payment_method_details":{"open_finance_biometric_pix":
            {"beneficiary_bank_account":"\(account)","enrollment":"\(parties.1)"}}}]
            """
    }

    @Test func `a lost payment gives its reference to the next one`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.dropRequest, on: .createPaymentIntent, count: 2)
            let lost = try await client.requestPayment(enrollment)
            try await harness.pass(.seconds(76))
            let next = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(next.status == 201)
            #expect(try next.string("id") != lost.string("id"))
        }
    }

    @Test func `a payment that was turned away releases its key and its reference`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (number, trouble) in Trouble.turnedAway.enumerated() {
                let (reference, key) = ("order-\(number)", "tap-\(number)")
                harness.sandbox.next(trouble.fault, on: .createPaymentIntent)
                try trouble.expectTold(
                    on: harness, try await client.requestPayment(enrollment, reference: reference, key: key))
                let again = try await client.requestPayment(enrollment, reference: reference, key: key)
                #expect(again.status == 201, "\(trouble.name): \(again.text)")
                #expect(again.response.headers["idempotent-replayed"] == nil, "\(trouble.name)")
            }
        }
    }

    @Test func `a signature that was not answered is sent once, and never counts as failed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (number, doubt) in Trouble.doubts.enumerated() {
                let payment = try await client.openPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                let path = "/v1/payment-intents/\(payment.id)/authorize"
                let body = try client.authorization(of: payment)
                let before = harness.countCalls(.authorizePaymentIntent)
                harness.sandbox.next(doubt.fault, on: .authorizePaymentIntent)
                for _ in 0..<2 {
                    let answer = try await client.app.send(.post, path, body)
                    #expect(answer.status == 202, "\(doubt.name)")
                    #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                }
                let other = try await client.app.send(.post, path, try client.authorization(of: payment))
                #expect(other.status == 409, "\(doubt.name)")
                #expect(harness.countCalls(.authorizePaymentIntent) == before + 1, "\(doubt.name)")

                if doubt.isDone {
                    try harness.sandbox.settle(intent: payment.belvoID)
                    try await harness.poll()
                    #expect(try await client.payment(payment).string("status") == "SUCCEEDED", "\(doubt.name)")
                    #expect(try await client.app.send(.post, path, body).status == 204, "\(doubt.name)")
                } else {
                    try await harness.pass(.seconds(121))
                    let end = try await client.payment(payment)
                    #expect(try end.string("status") == "PENDING", "\(doubt.name)")
                    #expect(try end.raw("in_doubt") == "true", "\(doubt.name)")
                    #expect(try await client.app.send(.post, path, body).status == 202, "\(doubt.name)")
                }
            }
        }
    }

    @Test func `a signature that was turned away may be sent again as it is`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (number, trouble) in Trouble.turnedAway.enumerated() {
                let payment = try await client.openPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                let path = "/v1/payment-intents/\(payment.id)/authorize"
                let body = try client.authorization(of: payment)
                harness.sandbox.next(trouble.fault, on: .authorizePaymentIntent)
                try trouble.expectTold(on: harness, try await client.app.send(.post, path, body))
                #expect(try await client.payment(payment).string("next_action", "type") == "sign", "\(trouble.name)")
                #expect(try await client.app.send(.post, path, body).status == 204, "\(trouble.name)")
            }
        }
    }
}

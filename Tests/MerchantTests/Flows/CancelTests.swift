import BelvoSandbox
import HTTP
import Postgres
import Testing

/// A user gives a payment up, so as to choose another bank.
@Suite struct CancelTests {
    @Test func `a payment that waits for its signature is given up at once, and is never signed after`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let signature = try client.authorization(of: payment)
            let first = try await client.cancel(payment)
            #expect(first.status == 200)
            #expect(try first.string("id") == payment.id)
            #expect(try first.string("status") == "FAILED")
            #expect(try first.string("failure_code") == "canceled")
            #expect(try first.raw("next_action") == #"{"type":"retry","reason":"now"}"#)
            for body in [nil, "{}"] {
                let again = try await client.cancel(payment, body)
                #expect(again.status == 200)
                #expect(again.text == first.text)
            }
            let late = try await client.app.send(.post, "/v1/payment-intents/\(payment.id)/authorize", signature)
            #expect(late.status == 409)
            #expect(try late.string("code") == "wrong_state")
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await client.payment(payment).text == first.text)
        }
    }

    @Test func `a payment whose challenge is still awaited is given up as well`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoOptions = .whenRead
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            #expect(try payment.answer.string("next_action", "type") == "poll")
            #expect(try await client.cancel(payment).string("failure_code") == "canceled")
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "FAILED")
        }
    }

    @Test func `whoever gives up has nothing to say but that`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            let unknown = try await client.cancel(payment, #"{"reason": "bored", "now": true}"#)
            #expect(unknown.status == 400)
            #expect(try unknown.each("field", in: "errors") == ["/reason", "/now"])
            for body in ["[]", "null", "{", #""now""#] {
                #expect(try await client.cancel(payment, body).status == 400, "\(body)")
            }
            let text = try await client.app.raw(
                .post, "/v1/payment-intents/\(payment.id)/cancel", body: "{}", headers: ["content-type": "text/plain"])
            #expect(text.status == 415)
            #expect(try await client.payment(payment).string("next_action", "type") == "sign")
        }
    }

    @Test func `a payment that was sent to be authorized can no longer be given up, however it goes on`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for end in ["unknown", "taken", "in-doubt", "paid", "failed", "refused"] {
                let payment = try await client.openPayment(enrollment, reference: end, key: end)
                if end == "unknown" { harness.sandbox.next(.dropRequest, on: .authorizePaymentIntent) }
                if end == "refused" { harness.sandbox.next(.refused(400, code: "no"), on: .authorizePaymentIntent) }
                try await client.authorize(payment)
                switch end {
                case "in-doubt": try await harness.pass(.seconds(121))
                case "paid": try harness.sandbox.settle(intent: payment.belvoID)
                case "failed": try harness.sandbox.fail(intent: payment.belvoID)
                default: break
                }
                try await harness.pass(.seconds(11))
                let before = try await client.payment(payment)
                let answer = try await client.cancel(payment)
                #expect(answer.status == 409, "\(end)")
                #expect(try answer.string("code") == "wrong_state", "\(end)")
                #expect(try await client.payment(payment).text == before.text, "\(end)")
            }
        }
    }

    @Test func `a signature that never left does not stand in the way, and one that was turned away does`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let turnedAway = try await client.openPayment(enrollment)
            let kept = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            harness.sandbox.next(.tooManyRequests(retryAfter: 60), on: .authorizePaymentIntent)
            #expect(try await client.authorize(turnedAway).status == 503)
            // While Belvo asks for silence nothing leaves.
            let calls = harness.countCalls(.authorizePaymentIntent)
            #expect(try await client.authorize(kept).status == 503)
            #expect(harness.countCalls(.authorizePaymentIntent) == calls)
            #expect(try await client.cancel(turnedAway).status == 409)
            #expect(try await client.cancel(kept).string("failure_code") == "canceled")
        }
    }

    @Test func `a payment that failed before it was authorized stays what it is`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let unsigned = try await client.openPayment(enrollment, reference: "unsigned", key: "unsigned")
            try await harness.pass(.seconds(361))
            harness.sandbox.next(.dropRequest, on: .createPaymentIntent, count: 2)
            let lost = try await client.requestPayment(enrollment, reference: "lost", key: "lost").string("id")
            try await harness.pass(.seconds(61))
            harness.sandbox.next(.refused(400, code: "no_way"), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment, reference: "refused", key: "refused").status == 422)
            let list = try await client.app.send(.get, "/v1/payment-intents?reference=refused")
            let refused = try #require(try list.each("id", in: "results").first ?? nil)
            for (id, code) in [(unsigned.id, "timed_out"), (lost, "creation_lost"), (refused, "no_way")] {
                let before = try await client.payment(id)
                #expect(try before.string("failure_code") == code)
                let answer = try await client.cancel(id)
                #expect(answer.status == 200, "\(code)")
                #expect(answer.text == before.text, "\(code)")
            }
        }
    }

    @Test func `of giving up and authorizing at once exactly one wins`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for number in 0..<12 {
                let payment = try await client.openPayment(
                    enrollment, reference: "order-\(number)", key: "tap-\(number)")
                let (app, path) = (client.app, "/v1/payment-intents/\(payment.id)")
                let body = try client.authorization(of: payment)
                let before = harness.countCalls(.authorizePaymentIntent)
                let cancel = { @Sendable in try await app.send(.post, "\(path)/cancel").status }
                let authorize = { @Sendable in try await app.send(.post, "\(path)/authorize", body).status }
                // The one that is named first tends to be first.
                let isCancelFirst = number.isMultiple(of: 2)
                async let one = isCancelFirst ? cancel() : authorize()
                async let other = isCancelFirst ? authorize() : cancel()
                let statuses = try await (one, other)
                let (canceled, authorized) = isCancelFirst ? statuses : (statuses.1, statuses.0)
                let sent = harness.countCalls(.authorizePaymentIntent) - before
                let end = try await client.payment(payment).string("status")
                if canceled == 200 {
                    #expect((authorized, sent, end) == (409, 0, "FAILED"))
                } else {
                    #expect((canceled, authorized, sent, end) == (409, 204, 1, "PENDING"))
                }
            }
        }
    }
}

/// Payments that were given up.
@Suite struct CancelAftermathTests {
    @Test func `a reference is free again after a fresh look at Belvo, and not before`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            // While Belvo cannot be asked about the first, there is no second.
            harness.sandbox.next(.dropRequest, on: .getPaymentIntent, count: nil)
            let given = try await client.cancel(payment)
            #expect(try given.string("failure_code") == "canceled")
            #expect(try given.string("next_action", "type") == "poll")
            let early = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(early.status == 409)
            #expect(try early.string("code") == "payment_in_doubt")
            #expect(try early.string("payment_intent") == payment.id)
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.may_be_paid") == [payment.id])
            harness.sandbox.clearFaults()
            let next = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(next.status == 201)
            #expect(try await client.payment(payment).string("next_action", "reason") == "now")
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.may_be_paid").isEmpty)
        }
    }

    @Test func `what was seen unsigned is not read again for every further attempt`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for number in 1...5 {
                let payment = try await client.openPayment(enrollment, key: "tap-\(number)")
                let looks = harness.countCalls(.getPaymentIntent)
                #expect(try await client.cancel(payment).status == 200)
                #expect(harness.countCalls(.getPaymentIntent) == looks + 1)
            }
            let looks = harness.countCalls(.getPaymentIntent)
            #expect(try await client.requestPayment(enrollment, key: "tap-6").status == 201)
            #expect(harness.countCalls(.getPaymentIntent) == looks)
        }
    }

    @Test func `what its user could sign with a token keeps its reference until Belvo has closed it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.openPayment(enrollment)
            _ = try await client.cancel(first)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            _ = try await client.cancel(second)
            // From here on the user can sign either without us.
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            let early = try await client.requestPayment(enrollment, key: "tap-3")
            #expect(early.status == 409)
            #expect(try early.string("code") == "payment_in_doubt")
            try harness.sandbox.fail(intent: second.belvoID)
            try harness.sandbox.settle(intent: first.belvoID)
            let third = try await client.requestPayment(enrollment, key: "tap-3")
            #expect(third.status == 409)
            #expect(try third.string("code") == "already_paid")
            #expect(try third.string("payment_intent") == first.id)
            let paid = try await client.payment(first)
            #expect(try paid.string("status") == "SUCCEEDED")
            #expect(try paid.raw("failure_code") == "null")
            #expect(try paid.raw("next_action") == "null")
            #expect(try await client.cancel(first).status == 409)
        }
    }

    @Test func `what a token could sign is polled until the token has ended`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            #expect(try await client.cancel(payment).string("failure_code") == "canceled")
            try await harness.pass(.seconds(300))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            try await harness.pass(.seconds(601))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `a live payment beside one that was paid late is shown as it is, and not authorized`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.openPayment(enrollment)
            _ = try await client.cancel(first)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try harness.sandbox.settle(intent: first.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: first.belvoID)
            try await harness.work()
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("payment_intent") == first.id)
            let signed = try await client.authorize(second)
            #expect(signed.status == 409)
            #expect(try signed.string("code") == "already_paid")
            #expect(try signed.string("payment_intent") == first.id)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await client.payment(first).string("status") == "SUCCEEDED")
            #expect(try await client.payment(second).string("status") == "PENDING")
        }
    }

    @Test func `a payment that somebody authorized at Belvo cannot be given up here`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.pass(.seconds(361))
            #expect(try await client.payment(payment).string("provider_status") == "PROCESSING")
            let answer = try await client.cancel(payment)
            #expect(answer.status == 409)
            #expect(try await client.payment(payment).string("status") == "PENDING")
        }
    }

    @Test(arguments: [true, false])
    func `while nobody knows whether Belvo has it, giving up is remembered`(isThere: Bool) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.variants.listLagMilliseconds = 3_000
            harness.sandbox.next(isThere ? .dropAnswer : .dropRequest, on: .createPaymentIntent, count: 2)
            let id = try await client.requestPayment(enrollment).string("id")
            for _ in 0..<2 {
                let answer = try await client.cancel(id)
                #expect(answer.status == 202)
                #expect(try answer.string("status") == "PENDING")
                #expect(try answer.raw("next_action") == #"{"type":"poll","after_ms":2000}"#)
            }
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            try await harness.poll()
            #expect(try await client.payment(id).string("status") == "PENDING")
            harness.sandbox.advance(by: .seconds(3))
            try await harness.pass(isThere ? .seconds(3) : .seconds(60))
            let end = try await client.payment(id)
            #expect(try end.string("status") == "FAILED")
            #expect(try end.string("failure_code") == "canceled")
            #expect(try end.string("next_action", "reason") == "now")
            #expect(try await client.cancel(id).text == end.text)
            // The key tells what became of it, and the reference is free.
            let again = try await client.requestPayment(enrollment)
            #expect(again.status == 201)
            #expect(again.text == end.text)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test(arguments: ["SUCCEEDED", "FAILED"])
    func `what was given up unknown and authorized elsewhere ends as Belvo says`(end: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.variants.listLagMilliseconds = 3_000
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent, count: 2)
            let id = try await client.requestPayment(enrollment).string("id")
            #expect(try await client.cancel(id).status == 202)
            let belvoID = try #require(harness.sandbox.intentIDs(externalID: id).first)
            try harness.sandbox.turn(intent: belvoID, to: "PROCESSING")
            harness.sandbox.advance(by: .seconds(3))
            try await harness.poll()
            let moving = try await client.payment(id)
            #expect(try moving.string("provider_status") == "PROCESSING")
            #expect(try moving.string("status") == "PENDING")
            #expect(try moving.string("next_action", "type") == "poll")
            // It has its challenge by now, and is not signed all the same.
            let payment = AppClient.OpenedPayment(id: id, belvoID: belvoID, answer: moving)
            #expect(try await client.authorize(payment).status == 409)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            if end == "SUCCEEDED" {
                try harness.sandbox.settle(intent: belvoID)
            } else {
                try harness.sandbox.fail(intent: belvoID)
            }
            try await harness.pass(.seconds(361))
            #expect(try await client.payment(id).string("status") == end)
        }
    }

    @Test func `giving up while the creation is under way is told to whoever asked for it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.delayRequest(.milliseconds(300)), on: .createPaymentIntent)
            let (app, body) = (client.app, client.paymentBody(enrollment))
            async let creation = app.send(
                .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
            var id: String?
            while id == nil {
                id = try await app.send(.get, "/v1/payment-intents").each("id", in: "results").first ?? nil
            }
            let cancel = try await client.cancel(try #require(id))
            #expect(cancel.status == 202)
            let made = try await creation
            #expect(made.status == 201)
            #expect(try made.string("id") == id)
            #expect(try made.string("failure_code") == "canceled")
            #expect(try await client.cancel(try #require(id)).text == made.text)
            let again = try await client.requestPayment(enrollment)
            #expect(again.text == made.text)
            #expect(again.response.headers["idempotent-replayed"] == "true")
        }
    }
}

import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Payments
import Postgres
import SoftwareAuthenticator
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// An app's SDK can enroll and pay at Belvo without us. What Belvo shows of it is imported if the customer is ours,
/// once, and then only follows what Belvo says.
@Suite struct ForeignRecordTests {
    private static let payments = """
        SELECT concat_ws(' ', origin, state, amount_centavos, reference, provider_status) AS line FROM payments
        ORDER BY id
        """ as SQL
    private static let enrollments = """
        SELECT concat_ws(' ', origin, state, platform, callback_url) AS line FROM enrollments ORDER BY id
        """ as SQL
    /// The outcomes of Belvo's webhooks: what the server itself has to read is none.
    private static let outcomes = """
        SELECT outcome AS line FROM webhook_receipts WHERE webhook_code <> 'SHOWN_AS' ORDER BY received_at
        """ as SQL

    private func history(_ harness: TestHarness, of type: String) async throws -> [String] {
        try await harness.lines(
            """
            SELECT concat_ws(' ', state_before, state_after, caused_by, split_part(detail, ':', 1)) AS line
            FROM state_history WHERE record_type = \(type) ORDER BY id
            """)
    }

    @Test func `an enrollment of the SDK's is imported, followed to its end, and can pay`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let id = try await client.startEnrollmentBySDK()
            try await harness.tell("ENROLLMENTS", of: id.description)
            try await harness.work()
            #expect(try await harness.lines(Self.enrollments) == ["observed observed ANDROID https://app.example/back"])
            #expect(try await harness.lines(Self.outcomes) == ["done"])
            let list = try await client.app.send(.get, "/v1/enrollments?belvo_id=\(id)")
            let shown = try #require(list.newest)
            #expect(shown["status"]?.string == "PENDING")
            #expect(shown["next_action"]?["type"]?.string == "poll")
            #expect(shown["details"]?["name"]?.string == "SDK's phone")
            #expect(shown["details"]?["institution"]?["id"]?.string == AppClient.bank)
            #expect(shown["details"]?["institution"]?["display_name"]?.string?.contains("-") == false)
            let enrollment = AppClient.Enrollment(id: try #require(shown["id"]?.string), belvoID: id.description)

            // No webhook names the end: it is polled.
            let done = try await client.enrollBySDK()
            try await harness.tell("ENROLLMENTS", of: done.description)
            try harness.sandbox.fail(enrollment: id.description)
            try await harness.poll()
            #expect(try await client.enrollment(enrollment).string("status") == "FAILED")
            #expect(
                try await history(harness, of: "enrollment").sorted() == [
                    "observed failed poller reported", "observed webhook taken_in", "succeeded webhook taken_in",
                ])

            let usable = try await client.app.send(.get, "/v1/enrollments?status=SUCCEEDED")
            let own = try #require(usable.newest?["id"]?.string)
            let payment = try await client.openPayment(AppClient.Enrollment(id: own, belvoID: done.description))
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a payment of the SDK's is imported with its enrollment, and its success is followed`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let intent = try await client.openPaymentBySDK(from: client.enrollBySDK())
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                try await harness.work()
                #expect(try await harness.lines(Self.payments) == ["observed observed 700 PENDING"])
                #expect(try await harness.lines(Self.enrollments).count == 1)
                let list = try await client.app.send(.get, "/v1/payment-intents")
                let shown = try #require(list.newest)
                #expect(shown["amount"]?.string == "7.00")
                #expect(shown["description"]?.string == "Two teas")
                #expect(shown["statement_description"]?.string == "Tea house")
                #expect(shown["next_action"]?["type"]?.string == "poll")
                let enrollments = try await client.app.send(.get, "/v1/enrollments")
                #expect(shown["enrollment"]?.string == enrollments.newest?["id"]?.string)
                let id = try #require(shown["id"]?.string)
                #expect(try await client.payment(id).string("belvo_id") == intent.description)
                #expect(harness.log.holds("payment.taken_in"))

                try harness.sandbox.settle(intent: intent.description)
                try await harness.poll()
                #expect(try await client.payment(id).string("status") == "SUCCEEDED")
                #expect(
                    try await history(harness, of: "payment") == [
                        "observed webhook taken_in", "observed succeeded poller reported",
                    ])
                #expect(
                    try await harness.lines(
                        """
                        SELECT concat_ws(' ', record_type, state, amount, end_to_end_id IS NOT NULL,
                            beneficiary_bank_account, taken_in_at >= created_at) AS line
                        FROM ops.taken_in WHERE record_type = 'payment'
                        """) == ["payment succeeded 7.00 t \(harness.sandbox.beneficiary) t"])
                try await harness.work()
                #expect(shop.types == ["enrollment.succeeded", "payment.succeeded"])
            }
        }
    }

    @Test(arguments: ["CHARGES", "TRANSACTIONS"])
    func `what has succeeded before anybody told is imported as it is`(type: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
            try harness.sandbox.settle(intent: intent.description)
            let movement = try #require(harness.sandbox.movement(type, of: intent.description))
            try await harness.tell(type, of: movement)
            try await harness.work()
            #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
            #expect(try await history(harness, of: "payment") == ["succeeded webhook taken_in"])
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.orphans").isEmpty)
        }
    }

    @Test func `nobody signs or cancels here what the SDK made, and no order is paid by it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            // The name of the user's own payment, at a price of the app's own.
            let intent = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id)
            try harness.sandbox.settle(intent: intent.description)
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo())
            try await harness.tell("PAYMENT_INTENTS", of: other.description)
            try await harness.work()
            #expect(
                try await harness.lines(Self.payments).sorted() == [
                    "observed observed 700 PENDING", "observed succeeded 700 SUCCEEDED",
                    "own awaiting_signature 1990 order-1 PENDING",
                ])
            let open = try await harness.lines("SELECT id::text AS line FROM payments WHERE state = 'observed'")
            let id = try #require(open.first)
            let cancelled = try await client.cancel(id)
            #expect(cancelled.status == 409)
            let authorized = try await client.app.send(
                .post, "/v1/payment-intents/\(id)/authorize", client.authorization(of: payment))
            #expect(authorized.status == 409)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await harness.texts("SELECT * FROM ops.double_paid").isEmpty)
        }
    }

    @Test func `a customer of nobody's here, and one who was forgotten, get no row`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let stranger = try await harness.merchant.dependencies.belvo.createCustomer(
                NewCustomer(externalID: "another shop's", identifier: "11144477735", name: "Rui Lima"))
            let signals = client.phone.riskSignals(accountTenure: String(try #require(stranger.createdAt).prefix(10)))
            let other = AppClient(
                harness: harness, app: client.app, phone: client.phone,
                signals: String(decoding: signals, as: UTF8.self))
            let foreign = try await other.startEnrollmentBySDK(of: stranger.id)
            try await harness.tell("ENROLLMENTS", of: foreign.description)
            let mine = try await client.startEnrollmentBySDK()
            try await harness.operate { _ = try await $0.erase(try UserSubject("ana")) }
            try await harness.tell("ENROLLMENTS", of: mine.description)
            try await harness.work()
            #expect(try await harness.lines(Self.outcomes) == ["not_ours", "not_ours"])
            #expect(try await harness.lines(Self.enrollments).isEmpty)
        }
    }

    @Test func `a hundred copies at once, and looks of two servers, make one row and one event`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enrollBySDK())
            try harness.sandbox.settle(intent: intent.description)
            try await harness.withAnotherInstance { other in
                let worlds = [harness.merchant.dependencies, other.merchant.dependencies]
                try await withThrowingTaskGroup { group in
                    for copy in 0..<100 {
                        group.addTask {
                            let workflow = PaymentWorkflow(dependencies: worlds[copy % 2])
                            #expect(try await workflow.syncFromBelvo(intent, on: .webhook) != nil)
                            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                        }
                    }
                    try await group.waitForAll()
                }
                try await harness.work()
                try await other.work()
            }
            #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
            #expect(try await harness.lines(Self.enrollments).count == 1)
            #expect(try await history(harness, of: "payment") == ["succeeded webhook taken_in"])
            #expect(!harness.log.holds("payment.end_to_end_id_repeated"))
        }
    }

    @Test(arguments: [("null", 1), (#""another""#, 1), (#""another""#, 2)])
    func `a payment that is being made here is not imported beside itself, whatever Belvo calls it`(
        name: String, readings: Int
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            harness.sandbox.next(.refused(503, code: "unavailable"), on: .listPaymentIntents)
            let opened = try await client.requestPayment(enrollment)
            #expect(opened.status == 202)
            let id = try opened.string("id")
            let intent = try #require(
                try await harness.merchant.dependencies.belvo.findPaymentIntents(externalID: id).named.first
            ).id.description
            // Belvo does not show our name once or twice: whose it is cannot be told, and is asked again.
            harness.sandbox.next(
                .altered([Fault.Alteration("/external_id", name)]), on: .getPaymentIntent, count: readings)
            try await harness.tell("PAYMENT_INTENTS", of: intent)
            try await harness.work()
            #expect(try await harness.lines(Self.outcomes) == ["received"])
            #expect(try await harness.lines("SELECT origin AS line FROM payments") == ["own"])
            try await harness.poll()
            #expect(try await harness.lines(Self.outcomes) == ["done"])
            #expect(
                try await harness.lines("SELECT origin || ' ' || belvo_id AS line FROM payments") == ["own \(intent)"])
            #expect(try await client.payment(id).string("next_action", "type") == "sign")
        }
    }

    @Test func `while Belvo is away nothing is concluded, and it is imported when Belvo is back`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enrollBySDK())
            for endpoint in [Endpoint.getPaymentIntent, .getEnrollment, .listInstitutions] {
                harness.sandbox.next(.statusAfter(503), on: endpoint)
            }
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            try await harness.work()
            for pause in [1, 2, 4] {
                #expect(try await harness.lines(Self.outcomes) == ["received"])
                #expect(try await harness.lines(Self.payments).isEmpty)
                try await harness.pass(.milliseconds(pause * 1_000 + 50))
            }
            #expect(try await harness.lines(Self.outcomes) == ["done"])
            #expect(try await harness.lines(Self.payments) == ["observed observed 700 PENDING"])
        }
    }

    @Test func `what Belvo leaves open is followed for days with growing pauses, and never given up here`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
            let waiting = try await client.startEnrollmentBySDK()
            for (type, id) in [("PAYMENT_INTENTS", intent.description), ("ENROLLMENTS", waiting.description)] {
                try await harness.tell(type, of: id)
            }
            try await harness.work()
            let states = """
                SELECT state || ' ' || (ceil(extract(epoch FROM next_poll_at - app_now()) / 10) * 10)::int AS line
                FROM payments
                UNION ALL
                SELECT state || ' ' || (ceil(extract(epoch FROM next_poll_at - app_now()) / 10) * 10)::int
                FROM enrollments WHERE origin = 'observed'
                """ as SQL
            for (pause, next) in [(Duration.seconds(130), 10), (.seconds(3_600), 900), (.seconds(8 * 86_400), 3_600)] {
                try await harness.pass(pause)
                #expect(try await harness.lines(states) == ["observed \(next)", "observed \(next)"])
            }
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.orphans").isEmpty)
            try harness.sandbox.cancel(intent: intent.description)
            try await harness.pass(.seconds(3_600))
            #expect(try await harness.lines(Self.payments) == ["observed failed 700 CANCELED"])
        }
    }

    @Test func `an unsigned payment that shows another one's Pix can be given up, and another one opened`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let paid = try await client.openPayment(enrollment)
            try await client.authorize(paid)
            try harness.sandbox.settle(intent: paid.belvoID)
            try await harness.hear(of: paid.belvoID)
            let transfer = try await harness.lines("SELECT end_to_end_id AS line FROM payments")[0]
            let payment = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            harness.sandbox.next(
                .altered([
                    Fault.Alteration(
                        "/payment_method_information/open_finance_biometric_pix/end_to_end_id", "\"\(transfer)\"")
                ]), on: .getPaymentIntent)
            try await harness.hear(of: payment.belvoID)
            #expect(harness.log.holds("payment.end_to_end_id_repeated"))
            #expect(try await client.cancel(payment).status == 200)
            #expect(try await client.requestPayment(enrollment, reference: "order-2", key: "tap-3").status == 201)
        }
    }

    @Test func `two payments cannot be one Pix: the second is shown, and not believed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let intent = try await client.openPaymentBySDK(from: enrollment.atBelvo())
            try harness.sandbox.settle(intent: intent.description)
            let told = try await harness.merchant.dependencies.belvo.readPaymentIntent(intent)
            let transfer = try #require(told.biometricPix.endToEndID)
            try await harness.database.execute("UPDATE payments SET end_to_end_id = \(transfer)")
            let pointer = "/payment_method_information/open_finance_biometric_pix/end_to_end_id"
            harness.sandbox.next(
                .altered([Fault.Alteration(pointer, "\"\(transfer)\"")]), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            try await harness.work()
            #expect(harness.log.holds("payment.end_to_end_id_repeated"))
            #expect(
                try await harness.lines(Self.payments).sorted() == [
                    "observed observed 700 SUCCEEDED", "own awaiting_signature 1990 order-1 PENDING",
                ])
            #expect(try await client.payment(payment).string("status") == "PENDING")
        }
    }

    @Test func `what is not the payment any more that was imported is believed when it is shown twice`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            try await harness.work()
            try harness.sandbox.settle(intent: intent.description)
            harness.sandbox.next(.otherAmount, on: .getPaymentIntent)
            try await harness.poll()
            #expect(harness.log.holds("payment.differs"))
            #expect(try await harness.lines("SELECT state AS line FROM payments") == ["observed"])
            // The right amount is another one than that of the reading before.
            try await harness.poll()
            #expect(try await harness.lines(Self.payments) == ["observed observed 700 PENDING"])
            try await harness.poll()
            #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
        }
    }

    @Test func `a payment without an amount in reais waits until Belvo shows one`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
            harness.sandbox.next(.otherCurrency, on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            try await harness.work()
            #expect(try await harness.lines(Self.outcomes) == ["received"])
            #expect(try await harness.lines(Self.payments).isEmpty)
            try await harness.poll()
            #expect(try await harness.lines(Self.payments) == ["observed observed 700 PENDING"])
        }
    }

    @Test func `an account that an enrollment of the SDK's shows is kept, and gone when its person is forgotten`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let id = try await client.enrollBySDK()
            let accounts = """
                SELECT (payer_information_ciphertext IS NOT NULL)::text AS line FROM enrollments
                """ as SQL
            for _ in 0..<2 {
                try await harness.tell("ENROLLMENTS", of: id.description)
                try await harness.work()
                #expect(try await harness.lines(accounts) == ["true"])
                try await harness.database.execute("UPDATE enrollments SET version = version + 1")
            }
            #expect(try await harness.lines(accounts) == ["true"])
            try await harness.operate { _ = try await $0.erase(try UserSubject("ana")) }
            try await harness.tell("ENROLLMENTS", of: id.description)
            try await harness.work()
            #expect(try await harness.lines(accounts) == ["false"])
        }
    }

    @Test func `the tables themselves keep own records whole and foreign ones only followed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            _ = try await client.openPayment(enrollment)
            for (broken, promise) in [
                ("UPDATE payments SET enrollment_id = NULL", "own_payments_are_whole"),
                ("UPDATE payments SET beneficiary_bank_account = NULL", "own_payments_are_whole"),
                ("UPDATE payments SET state = 'observed'", "only_observed_payments_are_followed"),
                (
                    "UPDATE payments SET origin = 'observed', reference = NULL",
                    "observed_payments_are_only_followed"
                ),
                ("UPDATE enrollments SET platform = NULL", "own_enrollments_are_whole"),
                (
                    "UPDATE enrollments SET state = 'observed', next_poll_at = app_now(), deadline_at = app_now()",
                    "only_observed_enrollments_are_followed"
                ),
                ("UPDATE enrollments SET origin = 'observed'", "observed_enrollments_are_only_followed"),
            ] {
                let failure = await #expect(throws: DatabaseError.self, "\(broken)") {
                    try await harness.database.execute(SQL(trusted: broken))
                }
                #expect("\(String(describing: failure))".contains(promise), "\(broken)")
            }
        }
    }
}

extension Answer {
    /// The first of a list.
    fileprivate var newest: JSONValue? {
        guard let results = try? json["results"] else { return nil }
        return Array(results.elements).first
    }
}

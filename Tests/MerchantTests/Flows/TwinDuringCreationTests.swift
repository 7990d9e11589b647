import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

/// A webhook may show an intent before the creation of the payment that bears its name has been answered.
@Suite struct TwinDuringCreationTests {
    @Test func `what the creation made is the payment, also when a webhook has shown another intent first`()
        async throws
    {
        let gate = Gate()
        var configuration = SandboxConfiguration.test()
        configuration.sleep = { _ in await gate.pass() }
        try await TestHarness.open(sandbox: configuration) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.delayAnswer(.seconds(1)), on: .createPaymentIntent)
            let opening = harness.loop.task { [client] in try await client.requestPayment(enrollment) }
            var made: [String] = []
            var id: String?
            while made.isEmpty {
                try await harness.loop.sleep(for: .milliseconds(5))
                id = try await harness.lines("SELECT id::text AS line FROM payments").first
                made = id.map { harness.sandbox.intentIDs(externalID: $0) } ?? []
            }
            let twin = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: try #require(id), centavos: 1990)
            try await harness.tell("PAYMENT_INTENTS", of: "\(twin)")
            try await harness.work()
            gate.open()
            let answer = try await opening.value
            #expect(try answer.string("belvo_id") == made[0])

            try await harness.work()
            #expect(
                try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin <> 'own'")
                    == ["\(twin)"])
            try harness.sandbox.settle(intent: "\(twin)")
            try await harness.poll()
            let payment = AppClient.OpenedPayment(id: try #require(id), belvoID: made[0], answer: answer)
            #expect(try await client.authorize(payment).status == 409)
        }
    }

    @Test func `another user's intent of the same name is not taken for the payment`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await other.enroll()
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent, count: 2)
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            let answer = try await client.requestPayment(enrollment)
            #expect(answer.status == 202)
            let id = try answer.string("id")
            let foreign = try await other.openPaymentBySDK(from: theirs.atBelvo(), named: id, centavos: 1990)
            try harness.sandbox.settle(intent: "\(foreign)")
            try await harness.tell("PAYMENT_INTENTS", of: "\(foreign)")
            try await harness.work()
            #expect(
                try await harness.lines("SELECT subject AS line FROM payments WHERE origin <> 'own'") == ["bia"],
                "another user's intent counts as the payment whose name it bears")
            harness.sandbox.variants.listLagMilliseconds = 0
            try await harness.pass(.seconds(60))
            let shown = try await client.app.send(.get, "/v1/payment-intents/\(id)")
            #expect(try shown.string("status") == "PENDING")
            #expect(try shown.string("belvo_id") != "\(foreign)")
            #expect(try shown.string("next_action", "type") == "sign")
        }
    }

    /// A payment whose creation Belvo refused, and which it has all the same, under way, beside a failed intent of the
    /// same name: the two, by Belvo's ids.
    private static func openedTwice(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment
    ) async throws -> (underWay: String, failed: String) {
        harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
        #expect(try await client.requestPayment(enrollment).status >= 400)
        let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
        let underWay = try #require(harness.sandbox.intentIDs(externalID: id).first)
        let failed = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: id, centavos: 1990)
        try harness.sandbox.turn(intent: underWay, to: "PROCESSING")
        try harness.sandbox.fail(intent: "\(failed)")
        return (underWay, "\(failed)")
    }

    @Test func `of several intents of its name a payment is the one that may be paid, whichever is heard of first`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (underWay, failed) = try await Self.openedTwice(harness, client, enrollment)
            try await harness.hear(of: failed)
            #expect(
                try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin = 'own'")
                    == [underWay])
            try await harness.work()
            #expect(
                try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin <> 'own'")
                    == [failed])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
        }
    }

    @Test func `a payment of unknown id that was paid is recorded, also while the list of its name cannot be read`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
            try harness.sandbox.settle(intent: intent)
            harness.sandbox.next(.refused(500, code: "broken"), on: .listPaymentIntents, count: nil)
            try await harness.hear(of: intent)
            #expect(try await harness.lines("SELECT status AS line FROM payments") == ["SUCCEEDED"])
        }
    }

    @Test func `two intents of a payment's name that are heard of at once are both known then`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (underWay, failed) = try await Self.openedTwice(harness, client, enrollment)
            // Lists show neither yet, and both readings have begun before either is recorded.
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            for intent in [failed, underWay] { try await harness.tell("PAYMENT_INTENTS", of: intent) }
            try await harness.work()
            harness.sandbox.variants.listLagMilliseconds = 0
            try await harness.poll(times: 2)
            #expect(
                try await Set(harness.lines("SELECT belvo_id::text AS line FROM payments")) == [underWay, failed])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
        }
    }

    @Test(arguments: [#""FRESH""#, "null"])
    func `a creation that is answered without a known status can be signed once it is read`(status: String) async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.altered([Fault.Alteration("/status", status)]), on: .createPaymentIntent)
            let answer = try await client.requestPayment(enrollment)
            try await harness.poll()
            let shown = try await client.app.send(.get, "/v1/payment-intents/\(try answer.string("id"))")
            let payment = AppClient.OpenedPayment(
                id: try shown.string("id"), belvoID: try shown.string("belvo_id"), answer: shown)
            #expect(try await client.authorize(payment).status == 204)
        }
    }
}

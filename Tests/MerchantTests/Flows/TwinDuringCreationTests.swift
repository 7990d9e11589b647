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
        try await TestHarness.open(sandbox: .test(pausingAt: gate)) { harness in
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

    /// A payment whose creation Belvo refused, and which it has all the same, under way, beside another intent of the
    /// same name, which has failed or is under way as well: the two, by Belvo's ids.
    private static func openedTwice(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment, hasFailed: Bool = true
    ) async throws -> (made: String, other: String) {
        harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
        #expect(try await client.requestPayment(enrollment).status >= 400)
        let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
        let made = try #require(harness.sandbox.intentIDs(externalID: id).first)
        let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: id, centavos: 1990)
        try harness.sandbox.turn(intent: made, to: "PROCESSING")
        if hasFailed {
            try harness.sandbox.fail(intent: "\(other)")
        } else {
            try harness.sandbox.turn(intent: "\(other)", to: "PROCESSING")
        }
        return (made, "\(other)")
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

    /// A payment whose creation Belvo refused, and which it has all the same, beside another intent of its name: both
    /// are under way, and a webhook names the other alone.
    private static func heardOfTheOther(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment
    ) async throws -> (made: String, other: String) {
        let (made, other) = try await openedTwice(harness, client, enrollment, hasFailed: false)
        try await harness.tell("PAYMENT_INTENTS", of: other)
        try await harness.work()
        return (made, other)
    }

    @Test func `an intent beside the one that a payment has become holds its reference, though no webhook names it`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (made, other) = try await Self.heardOfTheOther(harness, client, enrollment)
            try await harness.work()
            try harness.sandbox.fail(intent: other)
            try await harness.hear(of: other)
            #expect(
                try await Set(harness.lines("SELECT concat_ws(' ', belvo_id, status) AS line FROM payments"))
                    == ["\(other) FAILED", "\(made) PENDING"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
        }
    }

    @Test func `until Belvo's list of its name is read a payment that was heard of by it keeps its reference`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            harness.sandbox.next(.refused(500, code: "broken"), on: .listPaymentIntents, count: nil)
            let (made, other) = try await Self.heardOfTheOther(harness, client, enrollment)
            try harness.sandbox.fail(intent: other)
            try await harness.hear(of: other)
            #expect(
                try await harness.lines("SELECT concat_ws(' ', belvo_id, status) AS line FROM payments")
                    == ["\(other) FAILED"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.clearFaults()
            for _ in 1...2 { try await harness.pass(.seconds(60)) }
            let foreign = try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin <> 'own'")
            #expect(foreign == [made])
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 409)
        }
    }

    @Test(arguments: ["PENDING", "FAILED", "SUCCEEDED"])
    func `a payment is the intent that was asked for, though a webhook names one at another bank`(status: String)
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            var client = client
            let elsewhere = try await client.enroll()
            harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let made = try #require(harness.sandbox.intentIDs(externalID: id).first)
            try harness.sandbox.turn(intent: made, to: "PROCESSING")
            let other = try await client.openPaymentBySDK(from: elsewhere.atBelvo(), named: id, centavos: 1990)
            switch status {
            case "FAILED": try harness.sandbox.fail(intent: "\(other)")
            case "SUCCEEDED": try harness.sandbox.settle(intent: "\(other)")
            default: break
            }
            try await harness.hear(of: "\(other)")
            let known = try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin = 'own'")
            #expect(known == [made])
            try await harness.work()
            #expect(try await harness.lines("SELECT id::text AS line FROM payments").count == 2)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            let collected = try await harness.lines(
                "SELECT coalesce(collected_by, '') AS line FROM payments WHERE origin = 'own'")
            #expect(collected == [""])
        }
    }

    @Test func `a twin at another bank does not keep a failed payment open, and holds its reference`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            var client = client
            let elsewhere = try await client.enroll()
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent, count: 2)
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            #expect(try await client.requestPayment(enrollment).status == 202)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let made = try #require(harness.sandbox.intentIDs(externalID: id).first)
            let twin = try await client.openPaymentBySDK(from: elsewhere.atBelvo(), named: id, centavos: 1990)
            try harness.sandbox.fail(intent: made)
            try harness.sandbox.turn(intent: "\(twin)", to: "PROCESSING")
            harness.sandbox.variants.listLagMilliseconds = 0
            for _ in 1...2 { try await harness.pass(.seconds(60)) }
            let known = try await harness.lines("SELECT concat_ws(' ', belvo_id, status) AS line FROM payments")
            #expect(Set(known) == ["\(made) FAILED", "\(twin) PENDING"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
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

    @Test func `intents that bear a payment's name and are none of what was asked for are not read for ever`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            var client = client
            let elsewhere = try await client.enroll()
            harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
            harness.sandbox.next(.refused(503, code: "unavailable"), on: .listPaymentIntents)
            #expect(try await client.requestPayment(enrollment).status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            for made in harness.sandbox.intentIDs(externalID: id) { try harness.sandbox.fail(intent: made) }
            for _ in 1...3 {
                let intent = try await client.openPaymentBySDK(from: elsewhere.atBelvo(), named: id, centavos: 1990)
                try harness.sandbox.settle(intent: "\(intent)")
                try await harness.tell("PAYMENT_INTENTS", of: "\(intent)", named: id)
            }
            for seconds in [5, 5, 60, 3_700, 60] { try await harness.pass(.seconds(seconds)) }
            let calls = harness.countCalls(.getPaymentIntent) + harness.countCalls(.listPaymentIntents)
            for _ in 1...20 { try await harness.pass(.seconds(1)) }
            #expect(harness.countCalls(.getPaymentIntent) + harness.countCalls(.listPaymentIntents) == calls)
        }
    }
}

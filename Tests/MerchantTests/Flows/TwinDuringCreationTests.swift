import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

/// A webhook may show an intent before the creation of the payment that bears its name has been answered.
@Suite struct TwinDuringCreationTests {
    @Test func `what the creation made is imported too, when a webhook has shown another intent first`() async throws {
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
            #expect(try answer.string("belvo_id") == "\(twin)")

            // Nobody tells of the other one.
            try await harness.work()
            #expect(
                try await harness.lines("SELECT belvo_id::text AS line FROM payments WHERE origin <> 'own'") == made)
            try harness.sandbox.settle(intent: made[0])
            try await harness.poll()
            let payment = AppClient.OpenedPayment(id: try #require(id), belvoID: "\(twin)", answer: answer)
            #expect(try await client.authorize(payment).status == 409)
        }
    }
}

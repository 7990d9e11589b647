import BelvoSandbox
import HTTP
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantWorkflows

/// Belvo's list of a payment's name is read, while a webhook makes another intent of that name the payment.
@Suite struct ListedMeanwhileTests {
    @Test func `what a list shows as the payment is imported where the payment has become another meanwhile`()
        async throws
    {
        let (answered, gate) = (Gate(), Gate())
        var configuration = SandboxConfiguration.test()
        let delay = Duration.milliseconds(1_234)
        configuration.sleep = { span in
            if span == delay { answered.open() }
            await gate.pass()
        }
        try await TestHarness.open(sandbox: configuration) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let made = try #require(harness.sandbox.intentIDs(externalID: id).first)
            try harness.sandbox.turn(intent: made, to: "PROCESSING")

            harness.sandbox.next(.delayAnswer(delay), on: .listPaymentIntents)
            let workflow = PaymentWorkflow(dependencies: harness.merchant.dependencies)
            let payment = try #require(Payment.ID(id))
            let looking = harness.loop.task { try await workflow.importOthers(beside: payment, after: .zero) }
            await answered.pass()

            // The list that is under way shows what was made; from now on lists show neither.
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: id, centavos: 1990)
            try harness.sandbox.turn(intent: "\(other)", to: "PROCESSING")
            try await harness.hear(of: "\(other)")
            gate.open()
            try await looking.value
            try await harness.work()
            #expect(
                try await harness.lines("SELECT concat_ws(' ', origin, belvo_id) AS line FROM payments ORDER BY origin")
                    == ["observed \(made)", "own \(other)"])
        }
    }
}

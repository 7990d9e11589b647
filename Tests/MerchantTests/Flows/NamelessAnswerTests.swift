import Belvo
import BelvoSandbox
import FoundationEssentials
import JSON
import Testing

@testable import MerchantServer

/// Belvo's guide shows answers to a creation that name neither the payment nor its terms (belvo-api.md §6.1): whose
/// challenge such an answer holds only the intent itself shows.
@Suite struct NamelessAnswerTests {
    private static let nameless = Fault.Alteration("/external_id", "null")

    @Test func `the challenge of an answer without our name is shown once the intent was read`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let before = harness.countCalls(.getPaymentIntent)
            harness.sandbox.next(.altered([Self.nameless]), on: .createPaymentIntent)
            let payment = try await client.openPayment(enrollment)
            #expect(harness.countCalls(.getPaymentIntent) == before + 1)
            try await client.authorize(payment)
            // An answer with our name needs no reading.
            _ = try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2")
            #expect(harness.countCalls(.getPaymentIntent) == before + 1)
        }
    }

    @Test func `the challenge of another intent is not shown, and the app is told to wait`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let other = try await client.openPaymentBySDK(
                from: Belvo.Enrollment.ID(try #require(UUID(uuidString: enrollment.belvoID))))
            harness.sandbox.next(
                .altered([Self.nameless, Fault.Alteration("/id", "\"\(other)\"")]), on: .createPaymentIntent)
            let answer = try await client.requestPayment(enrollment, key: "tap-1")
            #expect(answer.status == 202)
            #expect(try answer.json["next_action"]?["type"]?.string == "poll")
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["differs"])
        }
    }

    @Test func `where the intent cannot be read, the same request again shows its challenge`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            harness.sandbox.next(.altered([Self.nameless]), on: .createPaymentIntent)
            harness.sandbox.next(.refused(500, code: "down"), on: .getPaymentIntent)
            #expect(try await client.requestPayment(enrollment, key: "tap-1").status == 202)
            let again = try await client.requestPayment(enrollment, key: "tap-1")
            #expect(try again.json["next_action"]?["type"]?.string == "sign")
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }
}

import HTTP
import Invariants
import JSON
import Postgres
import SoftwareAuthenticator
import Testing

@testable import Chaos

/// A payment that is made straight at Belvo, with the user's own phone and the merchant's credentials, beside
/// one that went through the server.
struct SecondIntent {
    let id: String
    private let harness: ChaosHarness
    private let options: JSONValue

    /// Opens it under the same name and for the same purchase as one of ours.
    init(beside payment: String, in harness: ChaosHarness) async throws {
        self.harness = harness
        let row = try #require(
            try await harness.site.database.rows(
                """
                SELECT belvo_customer_id::text AS customer, belvo_enrollment_id::text AS enrollment,
                    beneficiary_bank_account::text AS beneficiary
                FROM payments WHERE id::text = \(payment)
                """
            ).first)
        let (customer, enrollment) = (try row.text("customer"), try row.text("enrollment"))
        let beneficiary = try row.text("beneficiary")
        let answer = try await harness.callBelvo(
            "/payments/br/payment-intents/",
            JSONWriter.object {
                $0.memberRaw("amount", "19.90".utf8)
                $0.memberArray("allowed_payment_method_types") { $0.element("open_finance_biometric_pix") }
                $0.member("customer", customer)
                $0.member("description", "Two coffees")
                $0.member("statement_description", "Two coffees")
                $0.member("external_id", payment)
                $0.memberObject("payment_method_details") {
                    $0.memberObject("open_finance_biometric_pix") {
                        $0.member("beneficiary_bank_account", beneficiary)
                        $0.member("enrollment", enrollment)
                    }
                }
                $0.member("confirm", true)
            })
        let intent = try JSONDocument(parsing: answer.body).root
        try #require(answer.status.isSuccess, "\(String(decoding: answer.body, as: UTF8.self))")
        id = try #require(intent["id"]?.string)
        options = try #require(
            intent["payment_method_information"]?["open_finance_biometric_pix"]?["fido_options"],
            "\(String(decoding: answer.body, as: UTF8.self))")
    }

    /// Signs it and has the bank pay.
    func pay() async throws {
        let options = options
        let assertion = try harness.user.phone.update { phone in Result { try phone.sign(options) } }.get()
        let answer = try await harness.authorize(id, assertion)
        #expect(answer.status.isSuccess, "\(String(decoding: answer.body, as: UTF8.self))")
        let isPaid = await eventually(within: .seconds(20), every: .milliseconds(20)) {
            // A sandbox that does not answer is asked again.
            let intents = (try? await harness.site.belvo.intents()) ?? []
            return intents.contains { $0.ids.contains(id) && $0.paid == 2 }
        }
        #expect(isPaid)
    }
}

extension ChaosHarness {
    /// Sends a signature straight to Belvo.
    func authorize(_ intent: String, _ assertion: [UInt8]) async throws -> Response {
        let signals = user.signals.value
        return try await callBelvo(
            "/payments/br/payment-intents/\(intent)/authorize/",
            JSONWriter.object {
                $0.memberRaw("risk_signals", signals)
                $0.memberRaw("assertion", assertion)
            })
    }

    fileprivate func callBelvo(_ path: String, _ body: [UInt8]) async throws -> Response {
        let url = try #require(URL("http://127.0.0.1:\(site.belvo.port)/"))
        let client = Client(origin: url.origin)
        // "sandbox-id:sandbox-password", as RFC 7617 has it.
        let headers: Headers = [
            "content-type": "application/json", "authorization": "Basic c2FuZGJveC1pZDpzYW5kYm94LXBhc3N3b3Jk",
        ]
        return try await client.send(
            Request(.post, Target(path: path), headers: headers, body: body), deadline: .seconds(20))
    }
}

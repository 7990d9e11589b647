import HTTP
import JSON
import SoftwareAuthenticator
import Testing

@testable import BelvoSandbox

/// The sandbox and the software authenticator were written apart from WebAuthn's text: here they meet.
@Suite struct PhoneTests {
    @Test(arguments: [Algorithm.es256, .rs256], [SoftwareAuthenticator.Attestation.none, .packed])
    func `a phone enrolls and signs`(
        _ algorithm: Algorithm, _ attestation: SoftwareAuthenticator.Attestation
    ) async throws {
        var phone = Phone()
        phone.algorithms = [algorithm]
        phone.attestation = attestation
        let merchant = Merchant { $0.origins = ["https://belvo.com"] }
        let enrollment = try await confirm(&phone, at: merchant, flaw: nil)
        try merchant.sandbox.settle(enrollment: enrollment.id)
        for _ in 0..<2 {
            let intent = try await sign(&phone, for: enrollment, at: merchant, flaw: nil)
            #expect(merchant.sandbox.calls.last?.remark == nil)
            try merchant.sandbox.settle(intent: intent)
        }
    }

    @Test(arguments: Flaw.allCases)
    func `a flaw of the phone is found`(_ flaw: Flaw) async throws {
        let merchant = Merchant { $0.origins = ["https://belvo.com"] }
        var phone = Phone()
        let failed = try await confirm(&phone, at: merchant, flaw: flaw)
        #expect(merchant.sandbox.status(of: failed.id) == "FAILED")

        let enrollment = try await confirm(&phone, at: merchant, flaw: nil)
        try merchant.sandbox.settle(enrollment: enrollment.id)
        let intent = try await sign(&phone, for: enrollment, at: merchant, flaw: flaw)
        #expect(merchant.sandbox.status(of: intent) == "FAILED")
    }

    private func confirm(
        _ phone: inout Phone, at merchant: Merchant, flaw: Flaw?
    ) async throws -> (id: String, customer: String) {
        let enrollment = try await merchant.redirectedEnrollment()
        try merchant.sandbox.makeReady(enrollment: enrollment.id)
        let path = "/payments/br/enrollments/\(enrollment.id)/"
        let options = try #require(await merchant.get("\(path)fido-registration-options/").json)
        let data = try phone.register(options, with: flaw)
        let body = JSONWriter.object { $0.memberRaw("confirmation_data", data) }
        #expect(await merchant.call(.post, "\(path)confirm/", body).status == 204)
        return enrollment
    }

    private func sign(
        _ phone: inout Phone, for enrollment: (id: String, customer: String), at merchant: Merchant, flaw: Flaw?
    ) async throws -> String {
        let created = await merchant.post("/payments/br/payment-intents/", merchant.body(enrollment))
        let id = try #require(created.text("id"))
        let method = created.json?["payment_method_information"]?["open_finance_biometric_pix"]
        let assertion = try phone.sign(try #require(method?["fido_options"]), with: flaw)
        let signals = phone.riskSignals(accountTenure: "2026-11-21")
        let body = JSONWriter.object { body in
            body.memberRaw("risk_signals", signals)
            body.memberRaw("assertion", assertion)
        }
        let path = "/payments/br/payment-intents/\(id)/authorize/"
        #expect(await merchant.call(.post, path, body).status == 204)
        return id
    }
}

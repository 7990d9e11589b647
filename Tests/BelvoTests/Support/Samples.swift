import Belvo
import JSON
import Testing

import struct FoundationEssentials.UUID

/// Objects as Belvo's guides show them (belvo-api.md §3 to §6), with ids that tell them apart.
enum Sample {
    static let customer = "f78b14f3-5c1a-409a-966f-7b052b067cf0"
    static let institution = "188716fb-39ad-44a7-a992-6c278d2b24a4"
    static let enrollment = "82666cde-3f80-4350-b0f7-24cb8e9294c9"
    static let bankAccount = "0d3ffb69-f83b-456e-ad8e-208d0998d71d"
    static let intent = "5f3b1c1e-0f43-4a2a-9a7e-7a0f2b1f4f55"
    static let stranger = "00000000-0000-4000-8000-000000000001"
    static let externalID = "01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b"
    static let idempotencyKey = "0F1E2D3C-4B5A-4968-8776-655443322110"

    static func id<Noun>(_ text: String) throws -> Identity<Noun> { try #require(Identity(text)) }

    static func json(_ text: String) throws -> RawJSON { try RawJSON(parsing: Array(text.utf8)) }

    static func newCustomer() -> NewCustomer {
        NewCustomer(externalID: externalID, identifier: "23100299900", name: "Ana Souza")
    }

    static func newEnrollment() throws -> NewEnrollment {
        NewEnrollment(
            externalID: externalID,
            customer: try id(customer),
            institution: try id(institution),
            platform: .ios,
            callbackURL: "https://merchant.example/enrollment/callback",
            riskSignals: try json(riskSignals)
        )
    }

    static func newPaymentIntent(centavos: Int64 = 13) throws -> NewPaymentIntent {
        NewPaymentIntent(
            externalID: externalID,
            idempotencyKey: try #require(UUID(uuidString: idempotencyKey)),
            amountCentavos: centavos,
            customer: try id(customer),
            enrollment: try id(enrollment),
            beneficiaryBankAccount: try id(bankAccount),
            purpose: "Pedido 7",
            statementDescription: "LOJA EXEMPLO"
        )
    }

    static func authorization() throws -> Authorization {
        Authorization(riskSignals: try json(riskSignals), assertion: try json(assertion), platform: .ios)
    }

    /// Spaced and ordered as no encoder of ours would, with a number that no double holds.
    static let riskSignals =
        #"{ "deviceId":"a1b2c3",  "elapsedTimeSinceBoot": 9007199254740993, "screenBrightness":0.50, "#
        + #""language":"pt", "x":"\u00e9\/" }"#

    static let assertion =
        #"{"id":"AfD-uI4L","rawId":"AfD-uI4L","response":{"authenticatorData":"SZYN5YgO","clientDataJSON":"eyJ0","#
        + #""signature":"MEUC","userHandle":""},"type":"public-key","authenticatorAttachment":"platform"}"#

    static let confirmationData =
        #"{"authenticatorAttachment":"platform","id":"AfD-uI4L","rawId":"AfD-uI4L","type":"public-key","#
        + #""response":{"attestationObject":"o2Nm","clientDataJSON":"eyJ0"}}"#

    static let registrationOptions = #"""
        {"rp":{"id":"belvo.com","name":"Raidiam Mockbank - Pipeline NRJ"},
         "user":{"id":"a5bd0ef9-f8ab-41a2-b968-489761a91de6","name":"Ralph Bragg","displayName":"Ralph Bragg"},
         "challenge":"R3dsT2REOE5oZ25JbVE",
         "pubKeyCredParams":[{"alg":-257,"type":"public-key"},{"alg":-7,"type":"public-key"}],
         "extensions":{"appid":"true"}}
        """#

    static let customerAnswer = #"""
        {"id":"f78b14f3-5c1a-409a-966f-7b052b067cf0","created_at":"2024-11-26T11:20:57.389056Z",
         "created_by":"56689ef8-4c92-44ae-b2c1-60505da4a7e1","customer_type":"INDIVIDUAL","name":"Ana Souza",
         "country":"BRA","email":null,"identifier":"23******00","identifier_type":"CPF","address":null,"phone":null,
         "external_id":"01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b"}
        """#

    static let enrollmentCreated = #"""
        {"id":"82666cde-3f80-4350-b0f7-24cb8e9294c9","created_by":"56689ef8-4c92-44ae-b2c1-60505da4a7e1",
         "created_at":"2024-11-26T11:20:57.389056Z","updated_at":"2024-11-26T11:20:57.389056Z",
         "type":"open_finance_biometric_pix","status":"PENDING",
         "details":{"status":"AWAITING_ACCOUNT_HOLDER_VALIDATION","customer":"f78b14f3-5c1a-409a-966f-7b052b067cf0",
          "institution":"188716fb-39ad-44a7-a992-6c278d2b24a4","platform":"IOS","name":"First Enrollment",
          "callback_url":"https://merchant.example/enrollment/callback",
          "redirect_url":"https://www.user-banking-institution.com/?enrollment_request=true","risk_signals":"*****"}}
        """#

    static let enrollmentFailed = #"""
        {"id":"82666cde-3f80-4350-b0f7-24cb8e9294c9","type":"open_finance_biometric_pix","status":"FAILED",
         "details":{"callback_url":"https://merchant.example/enrollment/callback",
          "customer":"f78b14f3-5c1a-409a-966f-7b052b067cf0","expires_at":"2022-10-31T00:00:00Z",
          "institution":"188716fb-39ad-44a7-a992-6c278d2b24a4","name":"My Enrollment",
          "payer_information":{"bank_account":{"institution_id":"188716fb","agency":"1234","number":"*****6789",
           "account_type":"CHECKINGS"}},
          "platform":"IOS","redirect_url":"https://example.com/redirect-enrollment/","risk_signals":"*******",
          "status":"AWAITING_ACCOUNT_HOLDER_VALIDATION"},
         "external_id":"01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b","metadata":{},"status_reason_code":"insufficient_funds",
         "status_reason_message":"No funds","created_by":"56689ef8-4c92-44ae-b2c1-60505da4a7e1",
         "created_at":"2024-11-26T11:20:57.389056Z","updated_at":"2024-11-26T11:21:57.389056Z"}
        """#

    static let intentCreated = #"""
        {"id":"5f3b1c1e-0f43-4a2a-9a7e-7a0f2b1f4f55","status":"PENDING","payment_method_information":{
          "open_finance_biometric_pix":{"provider":"belvo",
           "consent_id":"urn:nubank:023230b9-1211-3420-bf6d-e7d56e87bdf1",
           "fido_options":{ "rpId":"belvo.com", "timeout":300000,
            "challenge":"oGW096Hvr8sVUIOf-10iqWI7ZfSx2GhoU359bBRK9h4",
            "allowCredentials":[{"id":"AfD-uI4L","type":"public-key"}] },
           "end_to_end_id":"E432158152025061315009OzwiMmDSO7",
           "external_payment_id":"bde3bb4d-5b48-4875-b69d-7f2beee4fb42",
           "provider_request_id":"afc99a8b-e0c7-4a8b-85d7-193bd70e4cc0"}}}
        """#

    static let intentSucceeded = #"""
        {"id":"5f3b1c1e-0f43-4a2a-9a7e-7a0f2b1f4f55","customer":"f78b14f3-5c1a-409a-966f-7b052b067cf0",
         "external_id":"01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b","created_at":"2025-06-13T15:00:01.000001Z",
         "created_by":"56689ef8-4c92-44ae-b2c1-60505da4a7e1","updated_at":"2025-06-13T15:00:09.000002Z",
         "status":"SUCCEEDED","amount":"0.13","currency":"BRL","description":"Pedido 7",
         "statement_description":"LOJA EXEMPLO","selected_payment_method_type":"open_finance_biometric_pix",
         "allowed_payment_method_types":["open_finance_biometric_pix"],
         "payment_method_details":{"open_finance_biometric_pix":{
          "beneficiary_bank_account":"0d3ffb69-f83b-456e-ad8e-208d0998d71d",
          "enrollment":"82666cde-3f80-4350-b0f7-24cb8e9294c9"}},
         "payment_method_information":{"open_finance_biometric_pix":{"provider":"belvo",
          "consent_id":"urn:nubank:023230b9-1211-3420-bf6d-e7d56e87bdf1","fido_options":null,
          "end_to_end_id":"E432158152025061315009OzwiMmDSO7","external_payment_id":null,"provider_request_id":null}},
         "metadata":{"basket":7},"provider":"belvo","charges":[],"failure_code":null,"failure_message":null,
         "next_step":null,"last_error":null}
        """#

    static func institution(_ id: String, name: String, methods: String = "{}") -> String {
        #"{"id":"\#(id)","active":true,"country":"BRA","display_name":"\#(name)","#
            + #""icon_logo":"https://cdn.belvo.io/icon.svg","institution_type":"INDIVIDUAL","name":"\#(name)","#
            + #""payment_methods":\#(methods),"sort_priority":1}"#
    }

    /// A page as Belvo wraps it.
    static func page(_ items: String..., next: String? = nil) -> String {
        let next = next.map { "\"\($0)\"" } ?? "null"
        return
            #"{"count":\#(items.count),"next":\#(next),"previous":null,"results":[\#(items.joined(separator: ","))]}"#
    }

    /// An access token whose claims are `{"token_type":"access","exp":1732620057,"jti":"x"}`.
    static let token = "eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjoiYWNjZXNzIiwiZXhwIjoxNzMyNjIwMDU3LCJqdGkiOiJ4In0.c2ln"
}

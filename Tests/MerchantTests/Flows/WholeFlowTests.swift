import BelvoSandbox
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

/// From a bank list to a paid Pix, as an app and its user see it: every request with its whole answer.
@Suite struct WholeFlowTests {
    @Test func `a user enrolls a phone at a bank and pays with a fingerprint`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let said = Transcript()
            var phone = Phone()

            said.expect(
                try await app.send(.post, "/v1/widget-token"),
                """
                201 Created
                {
                  access: "‹token 1›"
                  expires_at: "‹time›"
                }
                """)

            let banks = try await app.send(.get, "/v1/institutions")
            said.expect(
                banks,
                """
                200 OK
                {
                  results: [
                    {
                      id: "‹id 1›"
                      name: "aroeira_br_retail"
                      display_name: "Aroeira"
                      country: "BRA"
                      active: true
                      institution_type: "INDIVIDUAL"
                      icon_logo: "https://cdn.belvo.io/sandbox/aroeira_br_retail/icon.svg"
                      text_logo: "https://cdn.belvo.io/sandbox/aroeira_br_retail/text.svg"
                      primary_color: "#0663F9"
                    }
                    {
                      id: "‹id 2›"
                      name: "ipe_br_retail"
                      display_name: "Banco Ipê"
                      country: "BRA"
                      active: true
                      institution_type: "INDIVIDUAL"
                      icon_logo: "https://cdn.belvo.io/sandbox/ipe_br_retail/icon.svg"
                      text_logo: "https://cdn.belvo.io/sandbox/ipe_br_retail/text.svg"
                      primary_color: "#0663F9"
                    }
                    {
                      id: "‹id 3›"
                      name: "jatoba_br_business"
                      display_name: "Jatobá Empresas"
                      country: "BRA"
                      active: true
                      institution_type: "BUSINESS"
                      icon_logo: "https://cdn.belvo.io/sandbox/jatoba_br_business/icon.svg"
                      text_logo: "https://cdn.belvo.io/sandbox/jatoba_br_business/text.svg"
                      primary_color: "#0663F9"
                    }
                    {
                      id: "‹id 4›"
                      name: "mockbank_br_retail"
                      display_name: "Mockbank"
                      country: "BRA"
                      active: true
                      institution_type: "INDIVIDUAL"
                      icon_logo: "https://cdn.belvo.io/sandbox/mockbank_br_retail/icon.svg"
                      text_logo: "https://cdn.belvo.io/sandbox/mockbank_br_retail/text.svg"
                      primary_color: "#0663F9"
                    }
                  ]
                  next: null
                }
                """)

            let customer = try await app.send(
                .put, "/v1/customer", #"{"name": "Ana Souza", "identifier": "529.982.247-25"}"#)
            said.expect(
                customer,
                """
                201 Created
                {
                  id: "‹id 5›"
                  belvo_id: "‹id 6›"
                  name: "Ana Souza"
                  identifier: "***.***.***-25"
                  account_tenure: "‹day 1›"
                  next_action: null
                  created_at: "‹time›"
                }
                """)

            // The phone collects its risk signals with the day since when Belvo knows the customer.
            let tenure = try customer.string("account_tenure")
            let signals = String(decoding: phone.riskSignals(accountTenure: tenure), as: UTF8.self)
            let enrollment = try await app.send(
                .post, "/v1/enrollments",
                """
                {"institution": "188716fb-39ad-44a7-a992-6c278d2b24a4", "name": "Ana's phone", "platform": "IOS",
                 "risk_signals": \(signals), "metadata": {"campaign": "november"}}
                """)
            said.expect(
                enrollment,
                """
                201 Created
                {
                  id: "‹id 7›"
                  belvo_id: "‹id 8›"
                  type: "open_finance_biometric_pix"
                  status: "PENDING"
                  details: {
                    status: "AWAITING_ACCOUNT_HOLDER_VALIDATION"
                    institution: {
                      id: "‹id 4›"
                      display_name: "Mockbank"
                      icon_logo: "https://cdn.belvo.io/sandbox/mockbank_br_retail/icon.svg"
                    }
                    platform: "IOS"
                    name: "Ana's phone"
                    callback_url: "https://shop.example/enrollments/callback"
                    redirect_url: "‹url 1›"
                    expires_at: null
                    payer_information: null
                  }
                  status_reason_code: null
                  status_reason_message: null
                  metadata: {
                    campaign: "november"
                  }
                  next_action: {
                    type: "redirect"
                    url: "‹url 1›"
                  }
                  created_at: "‹time›"
                  updated_at: "‹time›"
                }
                """)

            // The user approves at the bank, and the app gets what the bank hands back.
            let id = try enrollment.string("id")
            let reply = try harness.sandbox.decide(enrollment: enrollment.string("belvo_id"), .approve)
            said.expect(
                try await app.send(
                    .post, "/v1/enrollments/complete-redirection", String(decoding: reply.body, as: UTF8.self)),
                """
                200 OK
                {
                  id: "‹id 7›"
                  belvo_id: "‹id 8›"
                  type: "open_finance_biometric_pix"
                  status: "PENDING"
                  details: {
                    status: "AWAITING_ACCOUNT_HOLDER_VALIDATION"
                    institution: {
                      id: "‹id 4›"
                      display_name: "Mockbank"
                      icon_logo: "https://cdn.belvo.io/sandbox/mockbank_br_retail/icon.svg"
                    }
                    platform: "IOS"
                    name: "Ana's phone"
                    callback_url: "https://shop.example/enrollments/callback"
                    redirect_url: "‹url 1›"
                    expires_at: null
                    payer_information: {
                      bank_account: {
                        institution_id: "‹id 4›"
                        agency: "1234"
                        number: "*****6789"
                        account_type: "CHECKINGS"
                      }
                    }
                  }
                  status_reason_code: null
                  status_reason_message: null
                  metadata: {
                    campaign: "november"
                  }
                  next_action: {
                    type: "poll"
                    after_ms: 2000
                  }
                  created_at: "‹time›"
                  updated_at: "‹time›"
                }
                """)

            // The bank needs a moment; the server asks, the app only looks.
            said.expect(
                try await app.send(.get, "/v1/enrollments/\(id)/fido-registration-options"),
                """
                202 Accepted
                {
                  next_action: {
                    type: "poll"
                    after_ms: 2000
                  }
                }
                """)
            try await harness.poll()
            try await harness.poll()
            let options = try await app.send(.get, "/v1/enrollments/\(id)/fido-registration-options")
            said.expect(
                options,
                """
                200 OK
                {
                  rp: {
                    id: "belvo.com"
                    name: "Mockbank"
                  }
                  user: {
                    id: "‹id 9›"
                    name: "Ana Souza"
                    displayName: "Ana Souza"
                  }
                  challenge: "‹random 1›"
                  pubKeyCredParams: [
                    {
                      alg: -257
                      type: "public-key"
                    }
                    {
                      alg: -7
                      type: "public-key"
                    }
                  ]
                  extensions: {
                    appid: "true"
                  }
                }
                """)

            let confirmation = try phone.register(try options.json)
            said.expect(
                try await app.send(
                    .post, "/v1/enrollments/\(id)/confirm",
                    #"{"confirmation_data": \#(String(decoding: confirmation, as: UTF8.self))}"#),
                """
                204 No Content
                """)
            try harness.sandbox.settle(enrollment: try enrollment.string("belvo_id"))
            try await harness.poll()
            said.expect(
                try await app.send(.get, "/v1/enrollments?device_id=\(phone.deviceID)"),
                """
                200 OK
                {
                  results: [
                    {
                      id: "‹id 7›"
                      belvo_id: "‹id 8›"
                      type: "open_finance_biometric_pix"
                      status: "SUCCEEDED"
                      details: {
                        status: "AUTHORIZED"
                        institution: {
                          id: "‹id 4›"
                          display_name: "Mockbank"
                          icon_logo: "https://cdn.belvo.io/sandbox/mockbank_br_retail/icon.svg"
                        }
                        platform: "IOS"
                        name: "Ana's phone"
                        callback_url: "https://shop.example/enrollments/callback"
                        redirect_url: "‹url 1›"
                        expires_at: null
                        payer_information: {
                          bank_account: {
                            institution_id: "‹id 4›"
                            agency: "1234"
                            number: "*****6789"
                            account_type: "CHECKINGS"
                          }
                        }
                      }
                      status_reason_code: null
                      status_reason_message: null
                      metadata: {
                        campaign: "november"
                      }
                      next_action: null
                      created_at: "‹time›"
                      updated_at: "‹time›"
                    }
                  ]
                  next: null
                }
                """)

            let payment = try await app.send(
                .post, "/v1/payment-intents",
                """
                {"enrollment": "\(id)", "reference": "order-1", "amount": "19.90", "description": "Two coffees"}
                """,
                headers: ["idempotency-key": "tap-1"])
            said.expect(
                payment,
                """
                201 Created
                {
                  id: "‹id 10›"
                  belvo_id: "‹id 11›"
                  status: "PENDING"
                  provider_status: "PENDING"
                  in_doubt: false
                  amount: "19.90"
                  currency: "BRL"
                  enrollment: "‹id 7›"
                  description: "Two coffees"
                  statement_description: "Two coffees"
                  reference: "order-1"
                  metadata: null
                  payment_method_information: {
                    open_finance_biometric_pix: {
                      provider: "belvo"
                      consent_id: "urn:mockbank:‹id 12›"
                      fido_options: {
                        rpId: "belvo.com"
                        timeout: 300000
                        challenge: "‹random 2›"
                        allowCredentials: [
                          {
                            id: "‹random 3›"
                            type: "public-key"
                          }
                        ]
                      }
                      end_to_end_id: "‹end-to-end id 1›"
                      external_payment_id: "‹id 13›"
                      provider_request_id: "‹id 14›"
                    }
                  }
                  failure_code: null
                  failure_message: null
                  next_action: {
                    type: "sign"
                    fido_options: {
                      rpId: "belvo.com"
                      timeout: 300000
                      challenge: "‹random 2›"
                      allowCredentials: [
                        {
                          id: "‹random 3›"
                          type: "public-key"
                        }
                      ]
                    }
                  }
                  created_at: "‹time›"
                  updated_at: "‹time›"
                }
                """)

            let assertion = try phone.sign(
                try #require(
                    try payment.json["payment_method_information"]?["open_finance_biometric_pix"]?["fido_options"]))
            let paymentID = try payment.string("id")
            said.expect(
                try await app.send(
                    .post, "/v1/payment-intents/\(paymentID)/authorize",
                    """
                    {"risk_signals": \(signals), "assertion": \(String(decoding: assertion, as: UTF8.self))}
                    """),
                """
                204 No Content
                """)
            try harness.sandbox.settle(intent: try payment.string("belvo_id"))
            try await harness.poll()
            said.expect(
                try await app.send(.get, "/v1/payment-intents/\(paymentID)"),
                """
                200 OK
                {
                  id: "‹id 10›"
                  belvo_id: "‹id 11›"
                  status: "SUCCEEDED"
                  provider_status: "SUCCEEDED"
                  in_doubt: false
                  amount: "19.90"
                  currency: "BRL"
                  enrollment: "‹id 7›"
                  description: "Two coffees"
                  statement_description: "Two coffees"
                  reference: "order-1"
                  metadata: null
                  payment_method_information: {
                    open_finance_biometric_pix: {
                      provider: "belvo"
                      consent_id: "urn:mockbank:‹id 12›"
                      fido_options: {
                        rpId: "belvo.com"
                        timeout: 300000
                        challenge: "‹random 2›"
                        allowCredentials: [
                          {
                            id: "‹random 3›"
                            type: "public-key"
                          }
                        ]
                      }
                      end_to_end_id: "‹end-to-end id 1›"
                      external_payment_id: "‹id 13›"
                      provider_request_id: "‹id 14›"
                    }
                  }
                  failure_code: null
                  failure_message: null
                  next_action: null
                  created_at: "‹time›"
                  updated_at: "‹time›"
                }
                """)
        }
    }
}

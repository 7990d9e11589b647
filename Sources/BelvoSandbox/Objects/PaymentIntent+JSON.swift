import JSON

extension PaymentIntent {
    /// - Parameter showsFIDOOptions: false for the answer to creation under `FIDOOptionsForm.whenRead`.
    func write(
        to writer: inout JSONWriter, charge: Charge?, transactions: [Transaction], createdBy: String,
        variants: Variants, relyingParty: String, timeoutMilliseconds: Int64, showsFIDOOptions: Bool = true
    ) {
        writer.member("id", id)
        writer.member("status", status.rawValue)
        writer.member("amount", amount.text)
        writer.member("currency", "BRL")
        writer.member("customer", customer)
        writer.member("description", description)
        writer.member("statement_description", statementDescription)
        writer.member("external_id", externalID)
        writer.memberRaw("metadata", metadata)
        writer.member("provider", "belvo")
        writer.member("selected_payment_method_type", "open_finance_biometric_pix")
        writer.memberArray("allowed_payment_method_types") { $0.element("open_finance_biometric_pix") }
        writer.memberObject("payment_method_details") { details in
            details.memberObject("open_finance_biometric_pix") { method in
                method.member("beneficiary_bank_account", beneficiary)
                method.member("enrollment", enrollment)
            }
        }
        writer.memberObject("payment_method_information") { information in
            information.memberObject("open_finance_biometric_pix") { method in
                method.member("provider", "belvo")
                method.member("consent_id", consentID)
                if showsFIDOOptions {
                    method.memberObject("fido_options") { options in
                        options.member("rpId", relyingParty)
                        options.member("timeout", timeoutMilliseconds)
                        writeOptions(to: &options, variants.optionBytes)
                    }
                } else {
                    method.memberNull("fido_options")
                }
                method.member("end_to_end_id", endToEndID)
                method.member("external_payment_id", externalPaymentID)
                method.member("provider_request_id", providerRequestID)
            }
        }
        writer.memberArray("charges") { charges in
            guard let charge else { return }
            charges.object {
                charge.write(
                    to: &$0, intent: self, transactions: transactions, createdBy: createdBy, variants: variants)
            }
        }
        writer.member("failure_code", failure.map { variants.failureCodes.apply($0.code) })
        writer.member("failure_message", failure?.message)
        writer.memberNull("next_step")
        writer.memberNull("last_error")
        writer.member("created_by", createdBy)
        writer.member("created_at", createdAt.text)
        writer.member("updated_at", updatedAt.text)
    }

    private func writeOptions(to writer: inout JSONWriter, _ form: OptionBytes) {
        writer.member("challenge", form.spell(challenge))
        writer.memberArray("allowCredentials") { credentials in
            credentials.object { credential in
                credential.member("id", form.spell(credentialID))
                credential.member("type", "public-key")
            }
        }
    }
}

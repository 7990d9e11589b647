/// The members of each answer as the sandbox gives them, and so as this program's authors believe them to be. A test
/// compares them with the sandbox itself.
enum KnownShapes {
    struct Members: Sendable {
        /// The shapes of every answer.
        let always: Set<String>
        let sometimes: Set<String>

        var all: Set<String> { always.union(sometimes) }

        init(always: Set<String>, sometimes: Set<String> = []) {
            self.always = always
            self.sometimes = sometimes
        }
    }

    /// The calls that are answered by 204 alone.
    static let empty: Set<String> = ["confirmEnrollment", "authorizePaymentIntent"]

    /// The shapes by call, and within a call by path: `results[].id`.
    static let members = calls.merging(afterwards) { $1 }

    static let calls: [String: Members] = [
        "createCustomer": Members(
            always: [
                "address", "country", "created_at", "created_by", "customer_type", "email", "external_id", "id",
                "identifier", "identifier_type", "name", "phone", "updated_at",
            ]
        ),
        "createEnrollment": Members(
            always: [
                "created_at", "created_by", "details", "details.callback_url", "details.customer",
                "details.expires_at", "details.institution", "details.name", "details.payer_information",
                "details.platform", "details.redirect_url", "details.risk_signals", "details.status", "external_id",
                "id", "metadata", "status", "status_reason_code", "status_reason_message", "type", "updated_at",
            ],
            sometimes: [
                "details.risk_signals.deviceId"
            ]
        ),
        "createPaymentIntent": Members(
            always: [
                "allowed_payment_method_types[]", "amount", "charges[]", "charges[].amount", "charges[].created_at",
                "charges[].created_by", "charges[].currency", "charges[].customer", "charges[].description",
                "charges[].failure_code", "charges[].failure_message", "charges[].id", "charges[].metadata",
                "charges[].payment_intent", "charges[].payment_method_details",
                "charges[].payment_method_details.open_finance_biometric_pix",
                "charges[].payment_method_details.open_finance_biometric_pix.beneficiary_bank_account",
                "charges[].payment_method_details.open_finance_biometric_pix.enrollment",
                "charges[].payment_method_information",
                "charges[].payment_method_information.open_finance_biometric_pix",
                "charges[].payment_method_information.open_finance_biometric_pix.end_to_end_id",
                "charges[].payment_method_type", "charges[].provider", "charges[].statement_description",
                "charges[].status", "charges[].transactions[]", "charges[].updated_at", "created_at", "created_by",
                "currency", "customer", "description", "external_id", "failure_code", "failure_message", "id",
                "last_error", "metadata", "next_step", "payment_method_details",
                "payment_method_details.open_finance_biometric_pix",
                "payment_method_details.open_finance_biometric_pix.beneficiary_bank_account",
                "payment_method_details.open_finance_biometric_pix.enrollment", "payment_method_information",
                "payment_method_information.open_finance_biometric_pix",
                "payment_method_information.open_finance_biometric_pix.consent_id",
                "payment_method_information.open_finance_biometric_pix.end_to_end_id",
                "payment_method_information.open_finance_biometric_pix.external_payment_id",
                "payment_method_information.open_finance_biometric_pix.fido_options",
                "payment_method_information.open_finance_biometric_pix.provider",
                "payment_method_information.open_finance_biometric_pix.provider_request_id", "provider",
                "selected_payment_method_type", "statement_description", "status", "updated_at",
            ],
            sometimes: [
                "payment_method_information.open_finance_biometric_pix.fido_options.allowCredentials[]",
                "payment_method_information.open_finance_biometric_pix.fido_options.allowCredentials[].id",
                "payment_method_information.open_finance_biometric_pix.fido_options.allowCredentials[].type",
                "payment_method_information.open_finance_biometric_pix.fido_options.challenge",
                "payment_method_information.open_finance_biometric_pix.fido_options.rpId",
                "payment_method_information.open_finance_biometric_pix.fido_options.timeout",
            ]
        ),
        "findCustomers": Members(
            always: [
                "count", "next", "previous", "results[]", "results[].address", "results[].country",
                "results[].created_at", "results[].created_by", "results[].customer_type", "results[].email",
                "results[].external_id", "results[].id", "results[].identifier", "results[].identifier_type",
                "results[].name", "results[].phone", "results[].updated_at",
            ]
        ),
        "listEnrollments": Members(
            always: [
                "count", "next", "previous", "results[]", "results[].created_at", "results[].created_by",
                "results[].details", "results[].details.callback_url", "results[].details.customer",
                "results[].details.expires_at", "results[].details.institution", "results[].details.name",
                "results[].details.payer_information", "results[].details.platform",
                "results[].details.redirect_url", "results[].details.risk_signals", "results[].details.status",
                "results[].external_id", "results[].id", "results[].metadata", "results[].status",
                "results[].status_reason_code", "results[].status_reason_message", "results[].type",
                "results[].updated_at",
            ],
            sometimes: [
                "results[].details.risk_signals.deviceId"
            ]
        ),
        "listInstitutions": Members(
            always: [
                "count", "next", "previous", "results[]", "results[].active", "results[].country",
                "results[].description", "results[].display_name", "results[].icon_logo", "results[].id",
                "results[].institution_type", "results[].legal_entity_name", "results[].logo", "results[].name",
                "results[].payment_methods", "results[].payment_methods.open_finance_biometric_pix",
                "results[].payment_methods.open_finance_biometric_pix.phase",
                "results[].payment_methods.open_finance_biometric_pix.status",
                "results[].payment_methods.open_finance_biometric_pix.status_reason",
                "results[].payment_methods.pix", "results[].payment_methods.pix.status", "results[].primary_color",
                "results[].sort_priority", "results[].text_logo", "results[].website",
            ]
        ),
        "mintWidgetToken": Members(
            always: [
                "access", "refresh",
            ]
        ),
        "readCustomer": Members(
            always: [
                "address", "country", "created_at", "created_by", "customer_type", "email", "external_id", "id",
                "identifier", "identifier_type", "name", "phone", "updated_at",
            ]
        ),
        "readEnrollment": Members(
            always: [
                "created_at", "created_by", "details", "details.callback_url", "details.customer",
                "details.expires_at", "details.institution", "details.name", "details.payer_information",
                "details.platform", "details.redirect_url", "details.risk_signals", "details.status", "external_id",
                "id", "metadata", "status", "status_reason_code", "status_reason_message", "type", "updated_at",
            ],
            sometimes: [
                "details.payer_information.bank_account", "details.payer_information.bank_account.account_type",
                "details.payer_information.bank_account.agency",
                "details.payer_information.bank_account.institution_id",
                "details.payer_information.bank_account.number", "details.risk_signals.deviceId",
            ]
        ),
        "readRegistrationOptions": Members(
            always: [

            ],
            sometimes: [
                "challenge", "extensions", "extensions.appid", "pubKeyCredParams[]", "pubKeyCredParams[].alg",
                "pubKeyCredParams[].type", "rp", "rp.id", "rp.name", "user", "user.displayName", "user.id",
                "user.name",
            ]
        ),
    ]
}

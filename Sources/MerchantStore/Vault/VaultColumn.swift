/// A column that holds ciphertext, by the name that each of its ciphertexts is bound to.
///
/// A name is part of what was encrypted: it stays as it is even if the column is renamed.
package enum VaultColumn: String, CaseIterable, Sendable {
    case customersPerson = "customers.person_ciphertext"
    case enrollmentsDevice = "enrollments.device_ciphertext"
    case enrollmentsRegistrationOptions = "enrollments.registration_options_ciphertext"
    case enrollmentsPayerInformation = "enrollments.payer_information_ciphertext"
    case enrollmentsName = "enrollments.name_ciphertext"
    case enrollmentsRedirectURL = "enrollments.redirect_url_ciphertext"
    case enrollmentsFailureMessage = "enrollments.failure_message_ciphertext"
    case paymentsFailureMessage = "payments.failure_message_ciphertext"
    /// Bound to the `record_id` of its row.
    case idempotencyKeysAnswer = "idempotency_keys.response_body_ciphertext"
    case redirectReceiptsBody = "redirect_receipts.body_ciphertext"
    case widgetTokensAccess = "widget_tokens.access_ciphertext"
    case widgetTokensRefresh = "widget_tokens.refresh_ciphertext"
    case webhookReceiptsBody = "webhook_receipts.body_ciphertext"
}

/// The purpose of a keyed digest: the digests of two purposes cannot be compared.
///
/// As with columns, the words are part of what is stored.
package enum LookupPurpose: String, CaseIterable, Sendable {
    case taxID = "tax_id"
    case device
    case redirectState = "redirect_state"
    case redirectReceipt = "redirect_receipt"
    case redirectSender = "redirect_sender"
    case callbackTicket = "callback_ticket"
    case idempotentRequest = "idempotent_request"
    case confirmation
    case assertion
    case webhook
}

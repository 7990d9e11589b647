/// A question about Belvo's API that its documents leave open (docs/belvo-api.md §12), by its number there.
enum ProbeQuestion: Int, Sendable, CaseIterable {
    case optionsBeforeReady = 1
    case widgetToken, idempotency, rateLimit, enrollmentWebhooks, webhookIDs, authorizePlatform, duplicateCustomers
    case takingBack, enrollmentEnd, intentLife, textLengths, openIntents, repetitions, refunds, failureCodes, sandbox
    case deviceFilter, methodWords, paymentLimit

    /// The question in the words of the table in docs/belvo-api.md; a test holds both together.
    var text: String {
        switch self {
        case .optionsBeforeReady: "the answer of fido-registration-options before they are there"
        case .widgetToken: "body, lifetimes, refresh path and scope of the widget token"
        case .idempotency:
            "idempotency of other calls than creating an intent; how long keys are kept; what another body gets"
        case .rateLimit: "rates and fields of the rate limit"
        case .enrollmentWebhooks: "`data` of webhooks about enrollments"
        case .webhookIDs: "meaning of `webhook_id`; order; signature"
        case .authorizePlatform: "whether authorize takes or wants `platform`"
        case .duplicateCustomers: "a second customer with the same identifier"
        case .takingBack: "whether an enrollment can be revoked by the API, and which webhook says so"
        case .enrollmentEnd: "how long an enrollment is good (`details.expires_at`), and its limits"
        case .intentLife: "how long an intent lives, and when Belvo sets it to `FAILED`"
        case .textLengths: "greatest lengths of texts"
        case .openIntents: "whether one enrollment may have several open intents"
        case .repetitions: "what a repetition of complete-redirection, confirm or authorize gets"
        case .refunds: "refunds"
        case .failureCodes: "the whole table of `failure_code`"
        case .sandbox: "a sandbox with a bank (an example in the guide shows that a test bank exists)"
        case .deviceFilter: "`device_id` as a filter in the reference"
        case .methodWords: "the words of `payment_methods.….status` and `phase`"
        case .paymentLimit: "today's limit per payment"
        }
    }
}

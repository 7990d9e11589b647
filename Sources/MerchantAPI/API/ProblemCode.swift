/// Why a request was refused, in a word that stays: the `code` of a problem document.
///
/// The contract lists them for apps, and a test holds the two lists against each other.
enum ProblemCode: String, CaseIterable, Sendable {
    // 400
    case malformedRequest = "malformed_request"
    case malformedJSON = "malformed_json"
    case invalidRequest = "invalid_request"
    case idempotencyKeyRequired = "idempotency_key_required"
    case idempotencyKeyMalformed = "idempotency_key_malformed"
    case amountDiffers = "amount_differs"

    // 401 to 408
    case unauthorized
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case requestTimeout = "request_timeout"

    // 409
    case customerRequired = "customer_required"
    case identifierDiffers = "identifier_differs"
    case identifierInUse = "identifier_in_use"
    case enrollmentFailed = "enrollment_failed"
    case enrollmentNotUsable = "enrollment_not_usable"
    case wrongState = "wrong_state"
    case alreadyDone = "already_done"
    case paymentInDoubt = "payment_in_doubt"
    case alreadyPaid = "already_paid"
    case orderRequired = "order_required"
    case orderExpired = "order_expired"
    case orderInUse = "order_in_use"
    case inProgress = "in_progress"

    // 413 to 417
    case bodyTooLarge = "body_too_large"
    case uriTooLong = "uri_too_long"
    case unsupportedMediaType = "unsupported_media_type"
    case expectationFailed = "expectation_failed"

    // 422
    case institutionUnavailable = "institution_unavailable"
    case refusedByBelvo = "refused_by_belvo"
    case confirmationRefused = "confirmation_refused"
    case redirectUnknown = "redirect_unknown"
    case paymentFailed = "payment_failed"
    case idempotencyKeyReused = "idempotency_key_reused"

    // 429 and 431
    case rateLimited = "rate_limited"
    case tooManyOpenEnrollments = "too_many_open_enrollments"
    case tooManyEnrollments = "too_many_enrollments"
    case tooManyOpenPayments = "too_many_open_payments"
    case tooManyPayments = "too_many_payments"
    case headersTooLarge = "headers_too_large"

    // 500 and 501
    case internalError = "internal_error"
    case notImplemented = "not_implemented"

    // 502
    case belvoMisused = "belvo_misused"
    case belvoDenied = "belvo_denied"
    case belvoLostObject = "belvo_lost_object"
    case belvoMalformedAnswer = "belvo_nonsense"

    // 503 to 505
    case belvoUnavailable = "belvo_unavailable"
    case databaseUnavailable = "database_unavailable"
    case keysUnavailable = "keys_unavailable"
    case busy
    case belvoTimeout = "belvo_timeout"
    case httpVersionNotSupported = "http_version_not_supported"
}

import HTTP

/// Every endpoint there is. `API.respond(to:)` is one switch over it, so that none goes unanswered.
enum Operation: Int, CaseIterable, Sendable {
    case mintWidgetToken
    case listInstitutions
    case putCustomer, getCustomer
    case createEnrollment, listEnrollments, getEnrollment
    case completeRedirection
    case getRegistrationOptions
    case confirmEnrollment
    case createPaymentIntent, listPaymentIntents, getPaymentIntent
    case authorizePaymentIntent, cancelPaymentIntent
    case landOnCallback, postCallback
    case getAppleAssociation, getAndroidAssociation
    case putOrder, getOrder
    case takeWebhook
    case live, ready
    case describe

    /// Who may call it.
    enum Access: Sendable {
        /// A user of the merchant, with a token.
        case user
        /// The merchant's shop, with the token that it shares with this server.
        case shop
        /// Belvo, with the token that was given to it for its webhooks.
        case belvo
        /// Anybody: a bank's redirect, a phone that asks which apps are the shop's, or an operator's probe.
        case anybody
    }

    /// Whether it asks how the server is, which the server says also when it has too much to do.
    var isProbe: Bool { self == .live || self == .ready }

    /// Whether a person reads the answer, so that it has to be a page.
    var isForPerson: Bool { self == .landOnCallback || self == .postCallback }

    var method: HTTP.Method {
        switch self {
        case .listInstitutions, .getCustomer, .listEnrollments, .getEnrollment, .getRegistrationOptions,
            .listPaymentIntents, .getPaymentIntent, .landOnCallback, .getAppleAssociation, .getAndroidAssociation,
            .getOrder, .live, .ready, .describe:
            .get
        case .putCustomer, .putOrder: .put
        case .mintWidgetToken, .createEnrollment, .completeRedirection, .confirmEnrollment, .createPaymentIntent,
            .authorizePaymentIntent, .cancelPaymentIntent, .postCallback, .takeWebhook:
            .post
        }
    }

    /// The path; a name in braces stands for one segment.
    var path: StaticString {
        switch self {
        case .mintWidgetToken: "/v1/widget-token"
        case .listInstitutions: "/v1/institutions"
        case .putCustomer, .getCustomer: "/v1/customer"
        case .createEnrollment, .listEnrollments: "/v1/enrollments"
        case .getEnrollment: "/v1/enrollments/{id}"
        case .completeRedirection: "/v1/enrollments/complete-redirection"
        case .getRegistrationOptions: "/v1/enrollments/{id}/fido-registration-options"
        case .confirmEnrollment: "/v1/enrollments/{id}/confirm"
        case .createPaymentIntent, .listPaymentIntents: "/v1/payment-intents"
        case .getPaymentIntent: "/v1/payment-intents/{id}"
        case .authorizePaymentIntent: "/v1/payment-intents/{id}/authorize"
        case .cancelPaymentIntent: "/v1/payment-intents/{id}/cancel"
        case .landOnCallback, .postCallback: "/enrollments/callback"
        case .getAppleAssociation: "/.well-known/apple-app-site-association"
        case .getAndroidAssociation: "/.well-known/assetlinks.json"
        case .putOrder, .getOrder: "/orders/{reference}"
        case .takeWebhook: "/webhooks/belvo"
        case .live: "/livez"
        case .ready: "/readyz"
        case .describe: "/openapi.json"
        }
    }

    var access: Access {
        switch self {
        case .landOnCallback, .postCallback, .getAppleAssociation, .getAndroidAssociation, .live, .ready,
            .describe:
            .anybody
        case .putOrder, .getOrder: .shop
        case .takeWebhook: .belvo
        default: .user
        }
    }
}

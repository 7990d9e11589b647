import HTTP

/// The endpoints of Belvo's API that the sandbox has; its names are those of the control API.
public enum Endpoint: String, Sendable, CaseIterable {
    case createWidgetToken = "create_widget_token"
    case refreshWidgetToken = "refresh_widget_token"
    case listInstitutions = "list_institutions"
    case createCustomer = "create_customer"
    case listCustomers = "list_customers"
    case getCustomer = "get_customer"
    case listBankAccounts = "list_bank_accounts"
    case getBankAccount = "get_bank_account"
    case createEnrollment = "create_enrollment"
    case completeRedirection = "complete_redirection"
    case getFIDORegistrationOptions = "get_fido_registration_options"
    case confirmEnrollment = "confirm_enrollment"
    case getEnrollment = "get_enrollment"
    case listEnrollments = "list_enrollments"
    case createPaymentIntent = "create_payment_intent"
    case authorizePaymentIntent = "authorize_payment_intent"
    case getPaymentIntent = "get_payment_intent"
    case listPaymentIntents = "list_payment_intents"
    case listIntentCharges = "list_intent_charges"
    case getIntentCharge = "get_intent_charge"
    case listCharges = "list_charges"
    case getCharge = "get_charge"
    case listTransactions = "list_transactions"
    case getTransaction = "get_transaction"

    /// The method and the path, with `*` for an id (belvo-api.md §0).
    var pattern: (method: Method, path: String) {
        switch self {
        case .createWidgetToken: (.post, "/payments/api/widget-token/")
        case .refreshWidgetToken: (.post, "/payments/api/widget-token/refresh/")
        case .listInstitutions: (.get, "/payments/br/institutions/")
        case .createCustomer: (.post, "/payments/br/customers/")
        case .listCustomers: (.get, "/payments/br/customers/")
        case .getCustomer: (.get, "/payments/br/customers/*/")
        case .listBankAccounts: (.get, "/payments/br/bank-accounts/")
        case .getBankAccount: (.get, "/payments/br/bank-accounts/*/")
        case .createEnrollment: (.post, "/payments/br/enrollments/")
        case .completeRedirection: (.post, "/payments/br/enrollments/complete-redirection/")
        case .getFIDORegistrationOptions: (.get, "/payments/br/enrollments/*/fido-registration-options/")
        case .confirmEnrollment: (.post, "/payments/br/enrollments/*/confirm/")
        case .getEnrollment: (.get, "/payments/br/enrollments/*/")
        case .listEnrollments: (.get, "/payments/br/enrollments/")
        case .createPaymentIntent: (.post, "/payments/br/payment-intents/")
        case .authorizePaymentIntent: (.post, "/payments/br/payment-intents/*/authorize/")
        case .getPaymentIntent: (.get, "/payments/br/payment-intents/*/")
        case .listPaymentIntents: (.get, "/payments/br/payment-intents/")
        case .listIntentCharges: (.get, "/payments/br/payment-intents/*/charges/")
        case .getIntentCharge: (.get, "/payments/br/payment-intents/*/charges/*/")
        case .listCharges: (.get, "/payments/br/charges/")
        case .getCharge: (.get, "/payments/br/charges/*/")
        case .listTransactions: (.get, "/payments/br/transactions/")
        case .getTransaction: (.get, "/payments/br/transactions/*/")
        }
    }

    /// Whether the call changes something.
    var changes: Bool { pattern.method == .post }
}

/// Where a request belongs.
enum Route {
    case endpoint(Endpoint, ids: [String])
    case methodNotAllowed(allowed: [Method])
    case missingSlash
    case unknown

    init(_ method: Method, path: String) {
        let matches = Endpoint.allCases.compactMap { endpoint in
            PathPattern.ids(in: path, by: endpoint.pattern.path).map { (endpoint, $0) }
        }
        if let (endpoint, ids) = matches.first(where: { $0.0.pattern.method == method }) {
            self = .endpoint(endpoint, ids: ids)
        } else if !matches.isEmpty {
            self = .methodNotAllowed(allowed: matches.map(\.0.pattern.method))
        } else if !path.hasSuffix("/"), case .endpoint = Route(method, path: path + "/") {
            self = .missingSlash
        } else {
            self = .unknown
        }
    }
}

enum PathPattern {
    /// The segments that stand at the pattern's asterisks, or nil when the path is another.
    ///
    /// An asterisk takes a UUID alone, as Django's converters do, so that `complete-redirection` is no id.
    static func ids(in path: String, by pattern: String) -> [String]? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let expected = pattern.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count == expected.count else { return nil }
        var ids: [String] = []
        for (segment, expectation) in zip(segments, expected) where segment != expectation {
            guard expectation == "*", let id = UUIDText.parse(String(segment)) else { return nil }
            ids.append(id)
        }
        return ids
    }
}

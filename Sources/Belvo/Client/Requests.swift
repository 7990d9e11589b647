import HTTP

/// The one payment method that this client is for.
let paymentMethod = "open_finance_biometric_pix"

extension Client {
    /// A request for something to be read.
    func get(_ path: String, query: KeyValuePairs<String, String> = [:], _ trace: TraceParent?) -> Request {
        Request(
            .get,
            Target(path: path, query: query.isEmpty ? nil : FormFields.encode(query)),
            headers: headers(trace)
        )
    }

    /// A request for something to be changed, with a JSON body.
    func post(_ path: String, _ body: [UInt8], _ trace: TraceParent?) -> Request {
        var headers = headers(trace)
        headers.append("content-type", "application/json")
        return Request(.post, Target(path: path), headers: headers, body: body)
    }

    private func headers(_ trace: TraceParent?) -> Headers {
        var headers = Headers([
            "authorization": configuration.credentials.authorization,
            "accept": "application/json",
            "user-agent": configuration.userAgent.text,
        ])
        if let trace { headers.append("traceparent", trace.text) }
        return headers
    }
}

/// The paths of Belvo's API, always with the slash at the end: without it a redirect could turn a POST into
/// a GET (belvo-api.md §0, §1).
enum Path {
    static let widgetToken = "/payments/api/widget-token/"
    static let institutions = "/payments/br/institutions/"
    static let customers = "/payments/br/customers/"
    static let enrollments = "/payments/br/enrollments/"
    static let completeRedirection = "/payments/br/enrollments/complete-redirection/"
    static let paymentIntents = "/payments/br/payment-intents/"
    static let charges = "/payments/br/charges/"
    static let transactions = "/payments/br/transactions/"

    static func customer(_ id: Customer.ID) -> String { "\(customers)\(id)/" }
    static func enrollment(_ id: Enrollment.ID) -> String { "\(enrollments)\(id)/" }
    static func registrationOptions(_ id: Enrollment.ID) -> String { "\(enrollment(id))fido-registration-options/" }
    static func confirmation(_ id: Enrollment.ID) -> String { "\(enrollment(id))confirm/" }
    static func paymentIntent(_ id: PaymentIntent.ID) -> String { "\(paymentIntents)\(id)/" }
    static func charges(of id: PaymentIntent.ID) -> String { "\(paymentIntent(id))charges/" }
    static func charge(_ id: Charge.ID) -> String { "\(charges)\(id)/" }
    static func transaction(_ id: Transaction.ID) -> String { "\(transactions)\(id)/" }
    static func authorization(_ id: PaymentIntent.ID) -> String { "\(paymentIntent(id))authorize/" }
}

import HTTP

/// Every endpoint there is, each with one row that says all of it but the answer; `API.perform` gives that.
package enum Operation: Int, CaseIterable, Sendable {
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

    /// The callers that may call it.
    enum Access: Sendable {
        /// A user of the merchant, with a token.
        case user
        /// The merchant's shop, with the token that it shares with this server.
        case shop
        /// Belvo, with the token that was given to it for its webhooks.
        case belvo
        /// Any program: a phone that asks which apps are the shop's, a developer who reads the contract.
        case anybody
        /// Any browser, which a bank has sent here: every answer has to be a page.
        case browser
        /// An operator's probe, which is answered also when the server has too much to do.
        case probe
    }

    /// The single resource that it reads and that a client may wait for with `wait`.
    enum Waitable: Sendable {
        case nothing
        case customer, enrollment, registrationOptions, payment
    }

    struct Row: Sendable {
        let method: HTTP.Method
        /// The path; a name in braces stands for one segment.
        let path: StaticString
        let access: Access
        let waitable: Waitable

        fileprivate init(_ method: HTTP.Method, _ path: StaticString, by access: Access, waitingFor waitable: Waitable)
        {
            self.method = method
            self.path = path
            self.access = access
            self.waitable = waitable
        }
    }

    /// Without defaults: what a new operation forgets to say does not compile.
    var row: Row {
        switch self {
        case .mintWidgetToken: Row(.post, "/v1/widget-token", by: .user, waitingFor: .nothing)
        case .listInstitutions: Row(.get, "/v1/institutions", by: .user, waitingFor: .nothing)
        case .putCustomer: Row(.put, "/v1/customer", by: .user, waitingFor: .nothing)
        case .getCustomer: Row(.get, "/v1/customer", by: .user, waitingFor: .customer)
        case .createEnrollment: Row(.post, "/v1/enrollments", by: .user, waitingFor: .nothing)
        case .listEnrollments: Row(.get, "/v1/enrollments", by: .user, waitingFor: .nothing)
        case .getEnrollment: Row(.get, "/v1/enrollments/{id}", by: .user, waitingFor: .enrollment)
        case .completeRedirection:
            Row(.post, "/v1/enrollments/complete-redirection", by: .user, waitingFor: .nothing)
        case .getRegistrationOptions:
            Row(.get, "/v1/enrollments/{id}/fido-registration-options", by: .user, waitingFor: .registrationOptions)
        case .confirmEnrollment: Row(.post, "/v1/enrollments/{id}/confirm", by: .user, waitingFor: .nothing)
        case .createPaymentIntent: Row(.post, "/v1/payment-intents", by: .user, waitingFor: .nothing)
        case .listPaymentIntents: Row(.get, "/v1/payment-intents", by: .user, waitingFor: .nothing)
        case .getPaymentIntent: Row(.get, "/v1/payment-intents/{id}", by: .user, waitingFor: .payment)
        case .authorizePaymentIntent:
            Row(.post, "/v1/payment-intents/{id}/authorize", by: .user, waitingFor: .nothing)
        case .cancelPaymentIntent: Row(.post, "/v1/payment-intents/{id}/cancel", by: .user, waitingFor: .nothing)
        case .landOnCallback: Row(.get, "/enrollments/callback", by: .browser, waitingFor: .nothing)
        case .postCallback: Row(.post, "/enrollments/callback", by: .browser, waitingFor: .nothing)
        case .getAppleAssociation:
            Row(.get, "/.well-known/apple-app-site-association", by: .anybody, waitingFor: .nothing)
        case .getAndroidAssociation: Row(.get, "/.well-known/assetlinks.json", by: .anybody, waitingFor: .nothing)
        case .putOrder: Row(.put, "/orders/{reference}", by: .shop, waitingFor: .nothing)
        case .getOrder: Row(.get, "/orders/{reference}", by: .shop, waitingFor: .nothing)
        case .takeWebhook: Row(.post, "/webhooks/belvo", by: .belvo, waitingFor: .nothing)
        case .live: Row(.get, "/livez", by: .probe, waitingFor: .nothing)
        case .ready: Row(.get, "/readyz", by: .probe, waitingFor: .nothing)
        case .describe: Row(.get, "/openapi.json", by: .anybody, waitingFor: .nothing)
        }
    }

    var method: HTTP.Method { row.method }
    var path: StaticString { row.path }
    var access: Access { row.access }

    /// Whether it reads a user's rows, and waits for nothing but the database. The catalog of banks is Belvo's.
    var isRead: Bool { access == .user && method == .get && self != .listInstitutions }
}

extension API {
    /// The whole API. A new operation does not compile until it is answered here.
    nonisolated(nonsending) func perform(_ operation: Operation, _ inbound: Inbound) async throws -> Response {
        switch operation {
        case .live: return health.live()
        case .ready: return await health.ready()
        case .getAppleAssociation: return try getAppleAssociation()
        case .getAndroidAssociation: return try getAndroidAssociation()
        case .describe: return describe(inbound)
        case .landOnCallback: return await landOnCallback(inbound)
        case .postCallback: return try await postCallback(inbound)
        case .mintWidgetToken: return try await mintWidgetToken(inbound, user(of: inbound))
        case .listInstitutions: return try await listInstitutions(inbound, user(of: inbound))
        case .putCustomer: return try await putCustomer(inbound, user(of: inbound))
        case .getCustomer: return try await getCustomer(inbound, user(of: inbound))
        case .createEnrollment: return try await createEnrollment(inbound, user(of: inbound))
        case .listEnrollments: return try await listEnrollments(inbound, user(of: inbound))
        case .getEnrollment: return try await getEnrollment(inbound, user(of: inbound))
        case .completeRedirection: return try await completeRedirection(inbound, user(of: inbound))
        case .getRegistrationOptions: return try await getRegistrationOptions(inbound, user(of: inbound))
        case .confirmEnrollment: return try await confirmEnrollment(inbound, user(of: inbound))
        case .createPaymentIntent: return try await createPaymentIntent(inbound, user(of: inbound))
        case .listPaymentIntents: return try await listPaymentIntents(inbound, user(of: inbound))
        case .getPaymentIntent: return try await getPaymentIntent(inbound, user(of: inbound))
        case .authorizePaymentIntent: return try await authorizePaymentIntent(inbound, user(of: inbound))
        case .cancelPaymentIntent: return try await cancelPaymentIntent(inbound, user(of: inbound))
        case .takeWebhook: return try await takeWebhook(inbound)
        case .putOrder:
            try requireShop(inbound)
            return try await putOrder(inbound)
        case .getOrder:
            try requireShop(inbound)
            return try await getOrder(inbound)
        }
    }
}

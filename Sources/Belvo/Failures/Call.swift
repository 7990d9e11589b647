/// The calls of an enrollment and a payment, as far as the meaning of a failure depends on them.
package enum Call: String, Sendable, CaseIterable {
    case mintWidgetToken
    case refreshWidgetToken
    case listInstitutions
    case createCustomer
    case findCustomers
    case readCustomer
    case createEnrollment
    case completeRedirection
    case readRegistrationOptions
    case confirmEnrollment
    case readEnrollment
    case listEnrollments
    case createPaymentIntent
    case authorizePaymentIntent
    case readPaymentIntent
    case findPaymentIntents
    case readCharge
    case listCharges
    case readTransaction

    /// The effect of a call at Belvo, and so what the loss of its answer leaves unknown.
    package enum Kind: Sendable, CaseIterable {
        /// Makes an object that will be known by our `external_id`.
        case creating
        /// Moves an object that exists on: the one-shot calls, whose bodies cannot be sent twice.
        case moving
        /// Asks for one object. Changes nothing.
        case reading
        /// Asks for a collection, or for a token that may be lost. Changes nothing.
        case listing
    }

    package var kind: Kind {
        switch self {
        case .createCustomer, .createEnrollment, .createPaymentIntent: .creating
        case .completeRedirection, .confirmEnrollment, .authorizePaymentIntent: .moving
        case .readCustomer, .readRegistrationOptions, .readEnrollment, .readPaymentIntent, .readCharge,
            .readTransaction:
            .reading
        case .mintWidgetToken, .refreshWidgetToken, .listInstitutions, .findCustomers, .listEnrollments,
            .findPaymentIntents, .listCharges:
            .listing
        }
    }

    /// The subject of a call: a path of Belvo's that hangs takes no place from calls about another one.
    package enum Subject: Int, Sendable, CaseIterable {
        case payments
        /// Institutions and enrollments, which come before a payment.
        case preparations
        case customers
        case tokens
    }

    package var subject: Subject {
        switch self {
        case .createPaymentIntent, .authorizePaymentIntent, .readPaymentIntent, .findPaymentIntents, .readCharge,
            .listCharges, .readTransaction:
            .payments
        case .listInstitutions, .createEnrollment, .completeRedirection, .readRegistrationOptions, .confirmEnrollment,
            .readEnrollment, .listEnrollments:
            .preparations
        case .createCustomer, .findCustomers, .readCustomer: .customers
        case .mintWidgetToken, .refreshWidgetToken: .tokens
        }
    }

    /// Whether the call changes something at Belvo.
    package var isChanging: Bool { kind == .creating || kind == .moving }
}

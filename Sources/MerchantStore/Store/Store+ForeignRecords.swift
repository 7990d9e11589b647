import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// A customer of ours, as far as a record of theirs needs to know.
package struct Owner: Sendable {
    package let customer: Customer.ID
    package let subject: UserSubject
    /// Whether the person was erased: then only an intent named after one of their payments is imported.
    package let isErased: Bool
    package let clock: DatabaseClock
}

// Foreign records: made at Belvo without this server.
extension Store {
    /// The customer that Belvo knows by this id.
    package func owner(belvoID: UUID) async throws -> Owner? {
        try await database.rows(
            """
            SELECT id, subject, erased_at IS NOT NULL AS is_erased, app_now() AS read_at FROM customers
            WHERE belvo_id = \(belvoID)
            """
        ).first.map { row in
            Owner(
                customer: try row.decode("id"), subject: try row.decode("subject"),
                isErased: try row.decode("is_erased"), clock: try clock(row))
        }
    }

    /// Whether the creation of one of the user's enrollments is in flight, so that Belvo may have it under an id that
    /// is not known here.
    package func hasEnrollmentInFlight(of subject: UserSubject) async throws -> Bool {
        try await !database.rows(
            """
            SELECT id FROM enrollments WHERE subject = \(subject) AND status = 'PENDING' AND belvo_id IS NULL LIMIT 1
            """
        ).isEmpty
    }

    /// The same of the user's payments.
    package func hasPaymentInFlight(of subject: UserSubject) async throws -> Bool {
        try await !database.rows(
            "SELECT id FROM payments WHERE subject = \(subject) AND status = 'PENDING' AND belvo_id IS NULL LIMIT 1"
        ).isEmpty
    }

    /// The user's payments over an amount that were begun within a day.
    package struct RecentPayments: Sendable {
        /// Whether there is one.
        package let isAny: Bool
        /// Whether Belvo may have one of them under an id that is not known here: its creation was refused, or its
        /// answer lost.
        package let isAnyUnknown: Bool
    }

    /// The user's payments over an amount that were begun within a day; none where there is no amount.
    package func recentPayments(of subject: UserSubject, over amount: Money?) async throws -> RecentPayments {
        guard let amount else { return RecentPayments(isAny: false, isAnyUnknown: false) }
        let rows = try await database.rows(
            """
            SELECT belvo_id IS NULL AS is_unknown FROM payments
            WHERE subject = \(subject) AND origin = 'own' AND amount_centavos = \(amount.centavos)
                AND created_at > app_now() - interval '1 day'
            """)
        return RecentPayments(
            isAny: !rows.isEmpty,
            isAnyUnknown: try rows.contains { try $0.decode("is_unknown", as: Bool.self) })
    }

    /// The name by which webhooks speak of an intent, if it can be a payment's id.
    package func nameToldOfIntent(_ belvoID: UUID) async throws -> Payment.ID? {
        try await database.rows(
            """
            SELECT external_id FROM webhook_receipts
            WHERE object_id = \(belvoID) AND webhook_type = 'PAYMENT_INTENTS' AND external_id IS NOT NULL
                AND webhook_code NOT IN ('SHOWN_AS', 'SHOWN_AS_PAID')
            ORDER BY last_received_at DESC LIMIT 1
            """
        ).first?.decode("external_id")
    }

    /// Whether Belvo's own webhooks have lately named an intent after another payment than this one, and none after it.
    package func isNameContested(ofIntent belvoID: UUID, shownAs name: Payment.ID) async throws -> Bool {
        let rows = try await database.rows(
            """
            SELECT coalesce(bool_or(external_id <> \(name) AND received_at > app_now() - interval '30 seconds'), false)
                AND NOT bool_or(external_id = \(name)) AS is_contested
            FROM webhook_receipts
            WHERE object_id = \(belvoID) AND webhook_type = 'PAYMENT_INTENTS' AND external_id IS NOT NULL
                AND webhook_code NOT IN ('LISTED_TWICE', 'LISTED_PAID', 'SHOWN_AS', 'SHOWN_AS_PAID')
            """)
        return try rows.first?.decode("is_contested") ?? false
    }

    /// Imports an enrollment as Belvo shows it, with its history line and the shop's event. Nothing comes back
    /// when there is a row for it already, or its user was forgotten meanwhile.
    ///
    /// Of several at once the unique `belvo_id` lets one through, and the others wait for that one to be committed.
    package func importForeign(
        _ enrollment: Enrollment, plan: PollPlan, cause: Cause, emitting shopEvent: ShopEvent?
    ) async throws -> Stored<Enrollment>? {
        try await database.execute(
            """
            WITH \(fragment: owning(enrollment.customer)), made AS (
                INSERT INTO enrollments (
                    id, origin, subject, customer_id, state, belvo_id, institution_id, institution_name,
                    institution_icon, platform, name_ciphertext, callback_url, provider_status,
                    provider_details_status, expires_at, payer_information_ciphertext, failure_code,
                    failure_message_ciphertext, failure_authority, metadata, created_at, updated_at, next_poll_at,
                    deadline_at)
                SELECT
                    \(enrollment.id), \(enrollment.origin), owner.subject, owner.id, \(enrollment.state),
                    \(enrollment.belvoID), \(enrollment.institution.id), \(enrollment.institution.displayName),
                    \(enrollment.institution.iconLogo), \(enrollment.platform),
                    \(seal(enrollment.name?.text, in: .enrollmentsName, of: enrollment.id.uuid)),
                    \(enrollment.callbackURL), \(enrollment.providerStatus), \(enrollment.providerDetailsStatus),
                    \(enrollment.expiresAt),
                    \(seal(enrollment.payerInformation, in: .enrollmentsPayerInformation, of: enrollment.id.uuid)),
                    \(enrollment.failure?.code),
                    \(seal(enrollment.failure?.message, in: .enrollmentsFailureMessage, of: enrollment.id.uuid)),
                    \(enrollment.failure?.authority),
                    \(enrollment.metadata.map { JSONColumn($0.json) }), \(enrollment.createdAt), app_now(),
                    app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                    app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond'
                FROM owner
                ON CONFLICT DO NOTHING
                RETURNING \(fragment: Self.enrollmentColumns)
            ), \(fragment: importHistory("enrollment", cause))\(
                fragment: emitting(shopEvent, of: "enrollment", when: "made"))
            SELECT * FROM made
            """
        ).first.map(readEnrollment)
    }

    /// Imports a payment as Belvo shows it; see above. `named` is our payment whose id Belvo shows as this intent's
    /// `external_id`; nil if a shared reference links the two already. For an erased customer, `named` or a reference
    /// is required.
    ///
    /// The result is nil also when another payment has its end-to-end id.
    package func importForeign(
        _ payment: Payment, of owner: Owner, named: Payment.ID?, plan: PollPlan, cause: Cause,
        emitting shopEvent: ShopEvent?
    ) async throws -> Stored<Payment>? {
        try await database.execute(
            """
            WITH \(fragment: owning(owner.customer, isErased: owner.isErased)), made AS (
                INSERT INTO payments (
                    id, origin, subject, bears_name_of, enrollment_id, state, belvo_id, reference,
                    seen_signed_at, collected_by,
                    closed_at_belvo, amount_centavos, description, statement_description, belvo_customer_id,
                    belvo_enrollment_id, beneficiary_bank_account,
                    provider_status, provider, consent_id, end_to_end_id, external_payment_id, provider_request_id,
                    failure_code, failure_message_ciphertext, failure_authority, metadata, created_at, updated_at,
                    next_poll_at, deadline_at)
                SELECT
                    \(payment.id), \(payment.origin), owner.subject, \(named), \(payment.enrollment), \(payment.state),
                    \(payment.belvoID), \(payment.reference),
                    CASE WHEN \(payment.wasSeenSigned) THEN app_now() END,
                    -- A contradiction is found by the next reading, for which what has collected must be new.
                    \(payment.contradiction == nil ? collectedBy(payment) : nil),
                    CASE WHEN \(payment.isClosedAtBelvo) THEN app_now() END,
                    \(payment.amount.centavos), \(payment.description), \(payment.statementDescription),
                    \(payment.parties.customer), \(payment.parties.enrollment),
                    \(payment.parties.beneficiaryBankAccount), \(payment.providerStatus), \(payment.facts.provider),
                    \(payment.facts.consentID), \(payment.facts.endToEndID), \(payment.facts.externalPaymentID),
                    \(payment.facts.providerRequestID), \(payment.failure?.code),
                    \(seal(payment.failure?.message, in: .paymentsFailureMessage, of: payment.id.uuid)),
                    \(payment.failure?.authority), \(payment.metadata.map { JSONColumn($0.json) }),
                    \(payment.createdAt), app_now(),
                    app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                    app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond'
                FROM owner
                ON CONFLICT DO NOTHING
                RETURNING \(fragment: Self.paymentColumns)
            ), \(fragment: importHistory("payment", cause))\(fragment: emitting(shopEvent, of: "payment", when: "made"))
            SELECT * FROM made
            """
        ).first.map(readPayment)
    }

    /// The payment, if it was imported, has no reference and bears no name but this one.
    package func unnamed(_ id: Payment.ID, orBearing name: Payment.ID?) async throws -> Stored<Payment>? {
        try await database.rows(
            """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE id = \(id) AND origin <> 'own' AND reference IS NULL
                AND (bears_name_of IS NULL OR bears_name_of = \(name))
            """
        ).first.map(readPayment)
    }

    /// Whether the payment bears the name of another payment than this one.
    package func bearsAnotherName(_ id: Payment.ID, than name: Payment.ID) async throws -> Bool {
        try await !database.rows(
            "SELECT id FROM payments WHERE id = \(id) AND bears_name_of <> \(name)"
        ).isEmpty
    }

    /// Gives an imported payment without a reference that of our payment whose twin it is, or else the name of that
    /// payment (`bears_name_of`); false where another writer was faster.
    package func name(
        _ payment: Stored<Payment>, reference: Reference?, bearing name: Payment.ID?, emitting shopEvent: ShopEvent?
    ) async throws -> Bool {
        try await !database.execute(
            """
            WITH changed AS (
                UPDATE payments SET
                    reference = \(reference), bears_name_of = \(name), updated_at = app_now(), version = version + 1
                WHERE id = \(payment.record.id) AND version = \(payment.version) AND origin <> 'own'
                    AND reference IS NULL
                RETURNING id
            )\(fragment: emitting(shopEvent, of: "payment"))
            SELECT * FROM changed
            """
        ).isEmpty
    }

    /// The customer's row, locked until the record is there: a customer that is erased meanwhile gets none.
    private func owning(_ customer: Customer.ID, isErased: Bool = false) -> SQL {
        """
        owner AS (
            SELECT id, subject FROM customers
            WHERE id = \(customer) AND (erased_at IS NOT NULL) = \(isErased) FOR SHARE
        )
        """
    }

    private func importHistory(_ type: String, _ cause: Cause) -> SQL {
        """
        recorded AS (
            INSERT INTO state_history (record_type, record_id, state_after, caused_by, request_id, detail)
            SELECT \(type), id, state, \(cause.actor), \(cause.requestID), 'taken_in' FROM made
        )
        """
    }
}

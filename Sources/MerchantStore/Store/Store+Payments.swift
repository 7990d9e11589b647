import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// Another payment has this end-to-end id already.
package struct EndToEndIDRepeated: Error {}

/// Another record of its kind has this id of Belvo's already.
package struct BelvoIDRepeated: Error {}

/// Another payment for the same reference has been paid, or may still be: this one is not authorized.
package struct ReferenceTaken: Error {}

extension Store {
    static let paymentColumns: SQL = """
        id, origin, subject, enrollment_id,
        (SELECT institution_id FROM enrollments WHERE enrollments.id = enrollment_id) AS institution_id,
        state, in_doubt, belvo_id, belvo_idempotency_key, reference,
        priced_by_order, authorize_sent_at IS NOT NULL AS was_authorize_sent,
        seen_signed_at IS NOT NULL AS was_seen_signed,
        closed_at_belvo IS NOT NULL AS is_closed_at_belvo, released_at IS NOT NULL AS is_released,
        contradicted_at IS NOT NULL AS is_contradicted,
        CASE WHEN contradicted_at IS NULL THEN false ELSE is_contradiction_settled(id, contradicted_at) END
            AS is_contradiction_settled,
        contradicted_at IS NOT NULL AND provider_status IN ('FAILED', 'CANCELED')
            AND updated_at <= app_now() - interval '5 seconds' AS was_failure_shown,
        closed_at_belvo IS NULL AND holds_widget_token(subject) AS is_signable_elsewhere, collected_by,
        amount_centavos, description, statement_description, belvo_customer_id, belvo_enrollment_id,
        beneficiary_bank_account, provider_status, provider, consent_id, end_to_end_id, external_payment_id,
        provider_request_id, fido_options, assertion_digest, authorization_accepted, cancel_requested, failure_code,
        failure_message, failure_message_ciphertext, failure_authority, metadata, created_at, updated_at, version,
        deadline_at, app_now() AS read_at
        """

    /// The outcome of an attempt to insert a payment.
    package enum Remembered: Sendable {
        case payment(Stored<Payment>)
        /// The idempotency key was used before; nothing was remembered.
        case keyIsTaken
        /// Another payment for the reference has been paid or may still be; nothing was remembered.
        case referenceTaken
        /// The last attempt for the reference that was signed and has failed is another one than was read again;
        /// nothing was remembered.
        case failureUnread
    }

    /// Remembers a payment before Belvo is asked, and claims its idempotency key, in one statement; with an order only
    /// if that still says the same.
    /// - Parameter failure: Belvo's id of the attempt that was read again since it failed (`PaymentSurvey`).
    package func insert(
        _ payment: Payment, pricedBy order: Order?, afterReading failure: UUID?, claiming claim: IdempotencyClaim?,
        plan: PollPlan, cause: Cause
    ) async throws -> Remembered {
        do {
            let rows = try await database.execute(
                """
                WITH \(fragment: pricing(order)), \(fragment: claiming(
                    claim, for: payment.id.uuid, where: "EXISTS (SELECT FROM priced)")), made AS (
                    INSERT INTO payments (
                        id, subject, enrollment_id, state, belvo_idempotency_key, reference, priced_by_order,
                        amount_centavos, description, statement_description, belvo_customer_id, belvo_enrollment_id,
                        beneficiary_bank_account, metadata, created_at, updated_at, next_poll_at, deadline_at)
                    SELECT
                        record_id, \(payment.subject), \(payment.enrollment), \(payment.state),
                        \(payment.belvoIdempotencyKey), \(payment.reference), \(payment.isPricedByOrder),
                        \(payment.amount.centavos), \(payment.description), \(payment.statementDescription),
                        \(payment.parties.customer), \(payment.parties.enrollment),
                        \(payment.parties.beneficiaryBankAccount), \(payment.metadata.map { JSONColumn($0.json) }),
                        app_now(), app_now(),
                        app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                        app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond'
                    FROM claimed
                    RETURNING \(fragment: Self.paymentColumns), require_failure_read(payments, \(failure))
                ), recorded AS (
                    INSERT INTO state_history (record_type, record_id, state_after, caused_by, request_id)
                    SELECT 'payment', id, state, \(cause.actor), \(cause.requestID) FROM made
                )
                SELECT * FROM made
                """)
            guard let row = rows.first else { return .keyIsTaken }
            return .payment(try readPayment(row))
        } catch let error as DatabaseError where error.isRefusal(by: Self.oneLivePaymentPerReference) {
            return .referenceTaken
        } catch let error as DatabaseError where error.isRefusal(by: "last_failure_was_read") {
            return .failureUnread
        }
    }

    /// The payment, if it is the user's.
    package func payment(_ id: Payment.ID, of subject: UserSubject) async throws -> Stored<Payment>? {
        try await database.rows(
            "SELECT \(fragment: Self.paymentColumns) FROM payments WHERE id = \(id) AND subject = \(subject)"
        ).first.map(readPayment)
    }

    /// The payment, of any user.
    package func payment(_ id: Payment.ID) async throws -> Stored<Payment>? {
        try await database.rows(
            "SELECT \(fragment: Self.paymentColumns) FROM payments WHERE id = \(id)"
        ).first.map(readPayment)
    }

    /// The payment that Belvo knows by this id, of any user.
    package func payment(belvoID: UUID) async throws -> Stored<Payment>? {
        try await database.rows(
            "SELECT \(fragment: Self.paymentColumns) FROM payments WHERE belvo_id = \(belvoID)"
        ).first.map(readPayment)
    }

    /// The payments that Belvo knows by one of these ids, or whose money moved by one of these transfers.
    package func payments(
        knownBy ids: [UUID], orByTransfers transfers: [EndToEndID]
    ) async throws -> [Stored<Payment>] {
        try await database.rows(
            """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE belvo_id = ANY(\(ids)) OR end_to_end_id = ANY(\(transfers.map(\.description)))
            """
        ).map(readPayment)
    }

    /// The user's payments for the reference that have been paid or may still be, and those of all users for an order
    /// where this one is for an order, too: while there is one, no other is opened or authorized (`takes_reference`).
    /// Whatever may be paid is polled (`what_may_be_paid_is_polled`).
    package func payments(
        taking reference: Reference, of subject: UserSubject, isPricedByOrder: Bool
    ) async throws -> [Stored<Payment>] {
        try await database.rows(
            """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE reference = \(reference) AND (subject = \(subject) OR holds_order(payments) AND \(isPricedByOrder))
                AND takes_reference(payments)
            ORDER BY state = 'succeeded' DESC, id
            """
        ).map(readPayment)
    }

    /// Twins of a payment without a reference (`is_twin`) that have been paid or may still be.
    package func payments(twinsOf payment: Payment.ID) async throws -> [Stored<Payment>] {
        try await database.rows(
            """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE bears_name_of = \(payment) AND takes_reference(payments)
                AND is_twin(payments, (SELECT own FROM payments AS own WHERE own.id = \(payment)))
            ORDER BY state = 'succeeded' DESC, id
            """
        ).map(readPayment)
    }

    /// The filter of a list of payments.
    package struct PaymentFilter: Sendable {
        var status: Payments.Status?
        var reference: String?

        package init(status: Payments.Status? = nil, reference: String? = nil) {
            self.status = status
            self.reference = reference
        }
    }

    /// The user's payments, newest first, older than `cursor`.
    package func payments(
        of subject: UserSubject, where filter: PaymentFilter, before cursor: UUID?, limit: Int
    ) async throws -> [Stored<Payment>] {
        try await database.rows(asking(of: subject, where: filter, before: cursor, limit: limit)).map(readPayment)
    }

    func asking(of subject: UserSubject, where filter: PaymentFilter, before cursor: UUID?, limit: Int) -> SQL {
        var conditions: [SQL] = ["subject = \(subject)"]
        if let status = filter.status { conditions.append("status = \(status)") }
        if let reference = filter.reference { conditions.append("reference = \(reference)") }
        if let cursor { conditions.append("id < \(cursor)") }
        return """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE \(fragment: SQL(joining: conditions, separator: " AND "))
            ORDER BY id DESC
            LIMIT \(limit)
            """
    }

    /// The payments that were begun on the day and that Belvo knows, oldest first.
    package func payments(knownAtBelvoOn day: UTCDay) async throws -> [Stored<Payment>] {
        try await database.rows(
            """
            SELECT \(fragment: Self.paymentColumns) FROM payments
            WHERE created_at >= \(day.begin) AND created_at < \(day.end) AND belvo_id IS NOT NULL
            ORDER BY id
            """
        ).map(readPayment)
    }

    /// The name under which the database refuses a second payment for a reference, be it new or about to be authorized.
    private static let oneLivePaymentPerReference = "one_live_payment_per_reference"

    /// Writes a payment's next state, and with it what its idempotency key answers from now on. Nothing comes back
    /// when another writer was faster.
    package func update(
        _ before: Stored<Payment>, to after: Payment, event: String, plan: PollPlan, cause: Cause,
        at moment: Timestamp, key: IdempotencySettlement = .unchanged, emitting shopEvent: ShopEvent? = nil
    ) async throws -> Stored<Payment>? {
        do {
            return try await database.execute(
                changing(
                    before, to: after, event: event, plan: plan, cause: cause, at: moment, key: key,
                    emitting: shopEvent)
            ).first.map(readPayment)
        } catch let error as DatabaseError where error.isUniqueViolation(of: "one_payment_per_end_to_end_id") {
            throw EndToEndIDRepeated()
        } catch let error as DatabaseError where error.isUniqueViolation(of: "one_payment_per_belvo_id") {
            throw BelvoIDRepeated()
        } catch let error as DatabaseError where error.isRefusal(by: Self.oneLivePaymentPerReference) {
            throw ReferenceTaken()
        }
    }

    private func changing(
        _ before: Stored<Payment>, to after: Payment, event: String, plan: PollPlan, cause: Cause,
        at moment: Timestamp, key: IdempotencySettlement, emitting shopEvent: ShopEvent?
    ) -> SQL {
        """
        WITH changed AS (
            UPDATE payments SET
                state = \(after.state), in_doubt = \(after.isInDoubt), belvo_id = \(after.belvoID),
                authorize_sent_at = CASE WHEN \(after.wasAuthorizeSent) THEN coalesce(authorize_sent_at, \(moment)) END,
                seen_signed_at = CASE WHEN \(after.wasSeenSigned) THEN coalesce(seen_signed_at, \(moment)) END,
                closed_at_belvo = CASE WHEN \(after.isClosedAtBelvo) THEN coalesce(closed_at_belvo, \(moment)) END,
                released_at = CASE WHEN \(after.isReleased) THEN coalesce(released_at, \(moment)) END,
                contradicted_at = CASE WHEN \(after.contradiction != nil) THEN coalesce(contradicted_at, \(moment)) END,
                collected_by = \(collectedBy(after)),
                provider_status = \(after.providerStatus), provider = \(after.facts.provider),
                consent_id = \(after.facts.consentID), end_to_end_id = \(after.facts.endToEndID),
                external_payment_id = \(after.facts.externalPaymentID),
                provider_request_id = \(after.facts.providerRequestID),
                fido_options = \(after.fidoOptions.map(JSONColumn.init)),
                assertion_digest = \(after.assertionDigest),
                authorization_accepted = \(after.isAuthorizationAccepted),
                cancel_requested = \(after.isCancelRequested),
                failure_code = \(after.failure?.code), failure_message = NULL,
                failure_message_ciphertext =
                    \(seal(after.failure?.message, in: .paymentsFailureMessage, of: after.id.uuid)),
                failure_authority = \(after.failure?.authority), \(fragment: terms(ifForeign: after))
                updated_at = \(moment), version = version + 1, leased_until = NULL,
                next_poll_at = CASE WHEN \(plan.keepsNextPoll) AND next_poll_at > app_now() THEN next_poll_at
                    ELSE app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond' END,
                deadline_at = coalesce(
                    \(plan.keptDeadline),
                    app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond')
            WHERE id = \(after.id) AND version = \(before.version)
            RETURNING \(fragment: Self.paymentColumns)
        ), recorded AS (
            INSERT INTO state_history (
                record_type, record_id, state_before, state_after, caused_by, request_id, detail)
            SELECT 'payment', id, \(before.record.historyState), \(after.historyState), \(cause.actor),
                \(cause.requestID), \(after.failure.map { "\(event): \($0.code)" } ?? event)
            FROM changed WHERE \(before.record.historyState != after.historyState)
        )\(fragment: settling(key, of: after.id.uuid))\(fragment: emitting(shopEvent, of: "payment"))
        SELECT * FROM changed
        """
    }

    func collectedBy(_ payment: Payment) -> String? {
        payment.collectedBy.isEmpty ? nil : payment.collectedBy.sorted().joined(separator: " ")
    }

    /// The columns of a payment's terms, which change for a foreign one alone: Belvo decides about them.
    private func terms(ifForeign payment: Payment) -> SQL {
        guard payment.origin == .foreign else { return "" }
        return """
            amount_centavos = \(payment.amount.centavos), belvo_enrollment_id = \(payment.parties.enrollment),
            beneficiary_bank_account = \(payment.parties.beneficiaryBankAccount),
            """
    }

    /// Takes up to `limit` payments whose poll is due, for so long, oldest first. See `claimDue`.
    package func claimDuePayments(limit: Int, lease: Duration) async throws -> [Stored<Payment>] {
        let rows = try await claimDue(in: .payments, limit: limit, lease: lease, giving: Self.paymentColumns)
        return readEach(rows, of: "payments", readPayment)
    }

    func readPayment(_ row: Row) throws -> Stored<Payment> {
        var payment = Payment(
            id: try row.decode("id"), origin: try row.decode("origin"), subject: try row.decode("subject"),
            enrollment: try row.decode("enrollment_id"),
            parties: Payment.Parties(
                customer: try row.decode("belvo_customer_id"), enrollment: try row.decode("belvo_enrollment_id"),
                beneficiaryBankAccount: try row.decode("beneficiary_bank_account")),
            amount: Money(centavos: try row.decode("amount_centavos")), description: try row.decode("description"),
            statementDescription: try row.decode("statement_description"), reference: try row.decode("reference"),
            metadata: try row.decode("metadata", as: JSONColumn?.self).map { try Metadata(json: $0.bytes) },
            belvoIdempotencyKey: try row.decode("belvo_idempotency_key"),
            isPricedByOrder: try row.decode("priced_by_order"), createdAt: try row.decode("created_at"))
        payment.institution = try row.decode("institution_id")
        payment.wasAuthorizeSent = try row.decode("was_authorize_sent")
        payment.wasSeenSigned = try row.decode("was_seen_signed")
        payment.isClosedAtBelvo = try row.decode("is_closed_at_belvo")
        payment.isReleased = try row.decode("is_released")
        let collected = try row.decode("collected_by", as: String?.self)
        payment.collectedBy = Set((collected ?? "").split(separator: " ").map(String.init))
        if try row.decode("is_contradicted") {
            payment.contradiction = Payment.Contradiction(
                isSettled: try row.decode("is_contradiction_settled"),
                wasFailureShown: try row.decode("was_failure_shown"))
        }
        payment.isSignableElsewhere = try row.decode("is_signable_elsewhere")
        payment.state = try row.decode("state")
        payment.isInDoubt = try row.decode("in_doubt")
        payment.belvoID = try row.decode("belvo_id")
        payment.providerStatus = try row.decode("provider_status")
        payment.facts = Payment.ProviderFacts(
            provider: try row.decode("provider"), consentID: try row.decode("consent_id"),
            endToEndID: try row.decode("end_to_end_id"), externalPaymentID: try row.decode("external_payment_id"),
            providerRequestID: try row.decode("provider_request_id"))
        payment.fidoOptions = try row.decode("fido_options", as: JSONColumn?.self)?.bytes
        payment.assertionDigest = try row.decode("assertion_digest")
        payment.isAuthorizationAccepted = try row.decode("authorization_accepted")
        payment.isCancelRequested = try row.decode("cancel_requested")
        payment.failure = try failure(row, in: .paymentsFailureMessage)
        return Stored(
            record: payment, version: try row.decode("version"), updatedAt: try row.decode("updated_at"),
            deadline: try row.decode("deadline_at"), clock: try clock(row))
    }
}

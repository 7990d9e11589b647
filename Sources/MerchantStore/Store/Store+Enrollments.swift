import FoundationEssentials
import MerchantModel
import Payments
import Postgres

extension Store {
    static let enrollmentColumns: SQL = """
        id, origin, subject, customer_id,
        (SELECT customers.belvo_id FROM customers WHERE customers.id = enrollments.customer_id) AS customer_belvo_id,
        state, belvo_id, institution_id, institution_name, institution_icon, platform,
        name, name_ciphertext, callback_url, redirect_url, redirect_url_ciphertext, registration_options_ciphertext,
        confirmation_digest, confirmation_accepted,
        provider_status, provider_details_status, expires_at, payer_information_ciphertext, failure_code,
        failure_message, failure_message_ciphertext, failure_authority, metadata, created_at, updated_at, version,
        deadline_at, next_poll_at,
        app_now() AS read_at
        """

    /// Remembers an enrollment before Belvo is asked, with the device that it is for, and claims its idempotency key,
    /// in one statement. Nothing comes back when the key was used before.
    package func insert(
        _ enrollment: Enrollment, deviceID: String, claiming claim: IdempotencyClaim?, plan: PollPlan, cause: Cause
    ) async throws -> Stored<Enrollment>? {
        let device = vault.seal(Array(deviceID.utf8), in: .enrollmentsDevice, of: enrollment.id.uuid)
        return try await database.execute(
            """
            WITH \(fragment: claiming(claim, for: enrollment.id.uuid)), made AS (
                INSERT INTO enrollments (
                    id, subject, customer_id, state, institution_id, institution_name, institution_icon, platform,
                    name_ciphertext, callback_url, device_ciphertext, device_lookup, metadata, created_at, updated_at,
                    next_poll_at, deadline_at)
                SELECT
                    record_id, \(enrollment.subject), \(enrollment.customer), \(enrollment.state),
                    \(enrollment.institution.id), \(enrollment.institution.displayName),
                    \(enrollment.institution.iconLogo), \(enrollment.platform),
                    \(seal(enrollment.name?.text, in: .enrollmentsName, of: enrollment.id.uuid)),
                    \(enrollment.callbackURL), \(device), \(vault.lookup(deviceID, for: .device)),
                    \(enrollment.metadata.map { JSONColumn($0.json) }), app_now(), app_now(),
                    app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                    app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond'
                FROM claimed
                RETURNING \(fragment: Self.enrollmentColumns)
            ), recorded AS (
                INSERT INTO state_history (record_type, record_id, state_after, caused_by, request_id)
                SELECT 'enrollment', id, state, \(cause.actor), \(cause.requestID) FROM made
            )
            SELECT * FROM made
            """
        ).first.map(readEnrollment)
    }

    /// The enrollment, if it is the user's.
    package func enrollment(_ id: Enrollment.ID, of subject: UserSubject) async throws -> Stored<Enrollment>? {
        try await database.rows(
            """
            SELECT \(fragment: Self.enrollmentColumns) FROM enrollments
            WHERE id = \(id) AND subject = \(subject)
            """
        ).first.map(readEnrollment)
    }

    /// The enrollment, of any user.
    package func enrollment(_ id: Enrollment.ID) async throws -> Stored<Enrollment>? {
        try await database.rows(
            "SELECT \(fragment: Self.enrollmentColumns) FROM enrollments WHERE id = \(id)"
        ).first.map(readEnrollment)
    }

    /// The enrollment that Belvo knows under this id.
    package func enrollment(belvoID: UUID) async throws -> Stored<Enrollment>? {
        try await database.rows(
            "SELECT \(fragment: Self.enrollmentColumns) FROM enrollments WHERE belvo_id = \(belvoID)"
        ).first.map(readEnrollment)
    }

    /// The newest enrollment whose redirect address carried this `state`.
    package func enrollment(redirectState: String) async throws -> Stored<Enrollment>? {
        try await database.rows(
            """
            SELECT \(fragment: Self.enrollmentColumns) FROM enrollments
            WHERE redirect_state_lookup = \(vault.lookup(redirectState, for: .redirectState))
            ORDER BY id DESC
            LIMIT 1
            """
        ).first.map(readEnrollment)
    }

    /// The filter of a list of enrollments.
    package struct EnrollmentFilter: Sendable {
        var deviceID: String?
        var status: Payments.Status?
        var belvoID: UUID?

        package init(deviceID: String? = nil, status: Payments.Status? = nil, belvoID: UUID? = nil) {
            self.deviceID = deviceID
            self.status = status
            self.belvoID = belvoID
        }
    }

    /// The user's enrollments, newest first, older than `cursor`.
    package func enrollments(
        of subject: UserSubject, where filter: EnrollmentFilter, before cursor: UUID?, limit: Int
    ) async throws -> [Stored<Enrollment>] {
        var conditions: [SQL] = ["subject = \(subject)"]
        if let deviceID = filter.deviceID {
            conditions.append("device_lookup = \(vault.lookup(deviceID, for: .device))")
        }
        if let status = filter.status { conditions.append("status = \(status)") }
        if let belvoID = filter.belvoID { conditions.append("belvo_id = \(belvoID)") }
        if let cursor { conditions.append("id < \(cursor)") }
        return try await database.rows(
            """
            SELECT \(fragment: Self.enrollmentColumns) FROM enrollments
            WHERE \(fragment: SQL(joining: conditions, separator: " AND "))
            ORDER BY id DESC
            LIMIT \(limit)
            """
        ).map(readEnrollment)
    }

    /// Writes an enrollment's next state, and with it what its idempotency key answers from now on. Nothing comes back
    /// when another writer was faster. Throws `BelvoIDRepeated` when Belvo's id is another enrollment's.
    ///
    /// `redirectState` is the `state` in the redirect address, where it became known by this change.
    package func update(
        _ before: Stored<Enrollment>, to after: Enrollment, redirectState: String? = nil, event: String,
        plan: PollPlan, cause: Cause, at moment: Timestamp, key: IdempotencySettlement = .unchanged,
        emitting shopEvent: ShopEvent? = nil
    ) async throws -> Stored<Enrollment>? {
        do {
            return try await database.execute(
                changing(
                    before, to: after, redirectState: redirectState, event: event, plan: plan, cause: cause,
                    at: moment, key: key, emitting: shopEvent)
            ).first.map(readEnrollment)
        } catch let error as DatabaseError where error.isUniqueViolation(of: "one_enrollment_per_belvo_id") {
            throw BelvoIDRepeated()
        }
    }

    /// Writes an enrollment's next state and its receipt's outcome together, or neither.
    package func update(
        _ before: Stored<Enrollment>, to after: Enrollment, event: String, plan: PollPlan, cause: Cause,
        at moment: Timestamp, with receipt: Stored<RedirectReceipt>, settledAs outcome: RedirectReceipt.Outcome,
        nextPoll: Duration?, isClaimed: Bool
    ) async throws -> (Stored<Enrollment>, Stored<RedirectReceipt>)? {
        do {
            return try await database.transaction { transaction in
                let settled = try await transaction.execute(
                    changing(
                        receipt, to: outcome, enrollment: before.record.id, nextPoll: nextPoll, isClaimed: isClaimed))
                let changed = try await transaction.execute(
                    changing(
                        before, to: after, redirectState: nil, event: event, plan: plan, cause: cause,
                        at: moment))
                guard let first = settled.first, let second = changed.first else { throw LostRace() }
                return (try readEnrollment(second), try readReceipt(first))
            }
        } catch is LostRace {
            return nil
        }
    }

    /// Undoes a transaction of which only one part found its version.
    private struct LostRace: Error {}

    private func changing(
        _ before: Stored<Enrollment>, to after: Enrollment, redirectState: String?, event: String,
        plan: PollPlan, cause: Cause, at moment: Timestamp, key: IdempotencySettlement = .unchanged,
        emitting shopEvent: ShopEvent? = nil
    ) -> SQL {
        let redirectStateLookup = redirectState.map { vault.lookup($0, for: .redirectState) }
        let id = after.id.uuid
        return """
            WITH changed AS (
                UPDATE enrollments SET
                    state = \(after.state), belvo_id = \(after.belvoID), redirect_url = NULL,
                    redirect_url_ciphertext = \(seal(after.redirectURL, in: .enrollmentsRedirectURL, of: id)),
                    redirect_state_lookup = coalesce(\(redirectStateLookup), redirect_state_lookup),
                    registration_options_ciphertext =
                        \(seal(after.registrationOptions, in: .enrollmentsRegistrationOptions, of: id)),
                    confirmation_digest = \(after.confirmationDigest),
                    confirmation_accepted = \(after.isConfirmationAccepted),
                    provider_status = \(after.providerStatus),
                    provider_details_status = \(after.providerDetailsStatus), expires_at = \(after.expiresAt),
                    payer_information_ciphertext =
                        \(seal(after.payerInformation, in: .enrollmentsPayerInformation, of: id)),
                    failure_code = \(after.failure?.code), failure_message = NULL,
                    failure_message_ciphertext =
                        \(seal(after.failure?.message, in: .enrollmentsFailureMessage, of: id)),
                    failure_authority = \(after.failure?.authority),
                    updated_at = \(moment), version = version + 1,
                    leased_until = app_now() + \(plan.leaseMicroseconds) * interval '1 microsecond',
                    next_poll_at = app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                    deadline_at = coalesce(
                        \(plan.keptDeadline),
                        app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond')
                WHERE id = \(after.id) AND version = \(before.version)
                RETURNING \(fragment: Self.enrollmentColumns)
            ), recorded AS (
                INSERT INTO state_history (
                    record_type, record_id, state_before, state_after, caused_by, request_id, detail)
                SELECT 'enrollment', id, \(before.record.state.rawValue), state, \(cause.actor), \(cause.requestID),
                    \(after.failure.map { "\(event): \($0.code)" } ?? event)
                FROM changed WHERE state <> \(before.record.state.rawValue)
            )\(fragment: settling(key, of: id))\(fragment: emitting(shopEvent, of: "enrollment"))
            SELECT * FROM changed
            """
    }

    /// Looks again at the user's enrollments that wait at the bank: one of them may have come back unseen.
    package func hasten(enrollmentsAtBankOf subject: UserSubject) async throws {
        try await database.execute(
            "UPDATE enrollments SET next_poll_at = app_now() WHERE subject = \(subject) AND state = 'at_bank'")
    }

    /// Looks again, soon, at the enrollments that wait at a bank which hides the `state`: one of them may have come
    /// back unseen. Those that were begun last, and each once in two seconds at most, since any client can send a
    /// redirect.
    package func hastenEnrollmentsWithHiddenState(limit: Int) async throws {
        try await database.execute(
            """
            UPDATE enrollments SET next_poll_at = app_now() + interval '2 seconds'
            WHERE id IN (
                SELECT id FROM enrollments
                WHERE next_poll_at > app_now() + interval '2 seconds' AND state = 'at_bank'
                    AND redirect_url_ciphertext IS NOT NULL AND redirect_state_lookup IS NULL
                ORDER BY next_poll_at DESC LIMIT \(limit)
            )
            """)
    }

    /// Makes the enrollment due for a poll, as if it had been since its last step: it comes before those of which
    /// nothing new is known. The moment is another one each time, by which a poll that is under way finds that it is
    /// due anew.
    package func hasten(enrollment id: Enrollment.ID) async throws {
        try await database.execute(
            """
            UPDATE enrollments SET next_poll_at = least(updated_at, next_poll_at - interval '1 microsecond')
            WHERE id = \(id) AND next_poll_at IS NOT NULL
            """)
    }

    /// Takes up to `limit` enrollments whose poll is due, for so long, oldest first. See `claimDue`.
    package func claimDueEnrollments(limit: Int, lease: Duration) async throws -> [Stored<Enrollment>] {
        let rows = try await claimDue(in: .enrollments, limit: limit, lease: lease, giving: Self.enrollmentColumns)
        return readEach(rows, of: "enrollments", readEnrollment)
    }

    func readEnrollment(_ row: Row) throws -> Stored<Enrollment> {
        var enrollment = Enrollment(
            id: try row.decode("id"), origin: try row.decode("origin"), subject: try row.decode("subject"),
            customer: try row.decode("customer_id"),
            institution: Enrollment.Institution(
                id: try row.decode("institution_id"), displayName: try row.decode("institution_name"),
                iconLogo: try row.decode("institution_icon")),
            platform: try row.decode("platform"),
            name: try text(row, "name", in: .enrollmentsName).map { try EnrollmentName($0) },
            callbackURL: try row.decode("callback_url"),
            metadata: try row.decode("metadata", as: JSONColumn?.self).map { try Metadata(json: $0.bytes) },
            createdAt: try row.decode("created_at"))
        enrollment.customerAtBelvo = try row.decode("customer_belvo_id")
        enrollment.state = try row.decode("state")
        enrollment.belvoID = try row.decode("belvo_id")
        enrollment.redirectURL = try text(row, "redirect_url", in: .enrollmentsRedirectURL)
        enrollment.registrationOptions = try open(
            row.decode("registration_options_ciphertext"), in: .enrollmentsRegistrationOptions, of: enrollment.id.uuid)
        enrollment.confirmationDigest = try row.decode("confirmation_digest")
        enrollment.isConfirmationAccepted = try row.decode("confirmation_accepted")
        enrollment.providerStatus = try row.decode("provider_status")
        enrollment.providerDetailsStatus = try row.decode("provider_details_status")
        enrollment.expiresAt = try row.decode("expires_at")
        enrollment.payerInformation = try open(
            row.decode("payer_information_ciphertext"), in: .enrollmentsPayerInformation, of: enrollment.id.uuid)
        enrollment.failure = try failure(row, in: .enrollmentsFailureMessage)
        return Stored(
            record: enrollment, version: try row.decode("version"), updatedAt: try row.decode("updated_at"),
            deadline: try row.decode("deadline_at"), due: try row.decode("next_poll_at"), clock: try clock(row))
    }
}

extension Store {
    /// How many enrollments the user has begun here: those that are not at their end, those among them that wait for
    /// Belvo, those of the last day, and how long until the oldest of these is none of the last day's.
    ///
    /// Requests at the same moment do not see each other, so that a few more may be begun.
    package func enrollmentsBegun(
        by subject: UserSubject
    ) async throws -> (open: Int, waiting: Int, today: Int, untilNext: Duration) {
        let row = try await database.rows(
            """
            SELECT count(*) FILTER (WHERE status = 'PENDING') AS open,
                count(*) FILTER (WHERE state IN ('completing', 'awaiting_options', 'confirming')) AS waiting,
                count(*) FILTER (WHERE created_at > app_now() - interval '1 day') AS today,
                (extract(epoch FROM interval '1 day' - (app_now() - min(created_at) FILTER (
                    WHERE created_at > app_now() - interval '1 day'))) * 1000000)::bigint AS until_next
            FROM enrollments
            WHERE subject = \(subject) AND origin = 'own'
                AND (status = 'PENDING' OR created_at > app_now() - interval '1 day')
            """
        ).first
        guard let row else { return (0, 0, 0, .zero) }
        return (
            Int(try row.decode("open", as: Int64.self)), Int(try row.decode("waiting", as: Int64.self)),
            Int(try row.decode("today", as: Int64.self)),
            .microseconds(try row.decode("until_next", as: Int64?.self) ?? 0)
        )
    }
}

import FoundationEssentials
import JSON
import MerchantModel
import Payments
import Postgres

extension Store {
    private static let customerColumns: SQL = """
        id, subject, state, belvo_id, belvo_created_at, failure_code, person_ciphertext, created_at, updated_at,
        version, deadline_at, app_now() AS read_at
        """

    /// The user's customer, in whatever state.
    package func customer(of subject: UserSubject) async throws -> Stored<Customer>? {
        try await database.rows(
            "SELECT \(fragment: Self.customerColumns) FROM customers WHERE subject = \(subject)"
        ).first.map(readCustomer)
    }

    /// Whether the customer was made with this tax number.
    func hasTaxID(_ taxID: TaxID, customer id: Customer.ID) async throws -> Bool {
        let lookup = vault.lookup(taxID.text, for: .taxID)
        return try await !database.rows(
            "SELECT id FROM customers WHERE id = \(id) AND tax_id_lookup = \(lookup)"
        ).isEmpty
    }

    /// How long until a customer that Belvo has refused so often within a day may be tried again; nil when it may be
    /// now. What was not sent, was not let in or was lost is no refusal.
    package func untilNextCreation(of customer: Customer.ID, perDayMax: Int) async throws -> Duration? {
        let misfortunes = [Failure.notSent, .notLetIn, .creationLost].map(\.code)
        let rows = try await database.rows(
            """
            SELECT count(*) AS refusals,
                (extract(epoch FROM interval '1 day' - (app_now() - min(changed_at))) * 1000000)::bigint AS until_next
            FROM (
                SELECT changed_at FROM state_history
                WHERE record_id = \(customer) AND detail LIKE 'not_created: %'
                    AND split_part(detail, ': ', 2) <> ALL (\(misfortunes))
                ORDER BY state_history.id DESC LIMIT \(perDayMax)
            ) AS latest
            WHERE changed_at > app_now() - interval '1 day'
            """)
        guard let row = rows.first, try row.decode("refusals", as: Int64.self) >= Int64(perDayMax) else { return nil }
        return .microseconds(try row.decode("until_next", as: Int64?.self) ?? 0)
    }

    /// Remembers a user before Belvo is asked. Nothing comes back when the user has a row already.
    package func insert(
        _ customer: Customer, plan: PollPlan, cause: Cause
    ) async throws -> Stored<Customer>? {
        try await database.execute(
            """
            WITH made AS (
                INSERT INTO customers (
                    id, subject, state, person_ciphertext, tax_id_lookup, created_at, updated_at,
                    next_poll_at, leased_until, deadline_at)
                VALUES (
                    \(customer.id), \(customer.subject), \(customer.state), \(seal(customer)),
                    \(vault.lookup(customer.person.taxID.text, for: .taxID)), app_now(), app_now(),
                    app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                    app_now() + \(plan.leaseMicroseconds) * interval '1 microsecond',
                    app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond')
                ON CONFLICT ON CONSTRAINT one_customer_per_user DO NOTHING
                RETURNING \(fragment: Self.customerColumns)
            ), recorded AS (
                INSERT INTO state_history (record_type, record_id, state_after, caused_by, request_id)
                SELECT 'customer', id, state, \(cause.actor), \(cause.requestID) FROM made
            )
            SELECT * FROM made
            """
        ).first.map(readCustomer)
    }

    /// Writes a customer's next state. Nothing comes back when another writer was faster. Throws `BelvoIDRepeated` when
    /// Belvo's id is another customer's.
    package func update(
        _ before: Stored<Customer>, to after: Customer, event: String, plan: PollPlan, cause: Cause
    ) async throws -> Stored<Customer>? {
        do {
            return try await database.execute(
                """
                WITH changed AS (
                    UPDATE customers SET
                        state = \(after.state), belvo_id = \(after.belvoID), belvo_created_at = \(after.belvoCreatedAt),
                        person_ciphertext = \(seal(after)),
                        tax_id_lookup = \(vault.lookup(after.person.taxID.text, for: .taxID)),
                        failure_code = \(after.failureCode), updated_at = app_now(), version = version + 1,
                        leased_until = app_now() + \(plan.leaseMicroseconds) * interval '1 microsecond',
                        next_poll_at = app_now() + \(plan.nextPollMicroseconds) * interval '1 microsecond',
                        deadline_at = coalesce(
                            \(plan.keptDeadline),
                            app_now() + \(plan.deadlineMicroseconds) * interval '1 microsecond')
                    WHERE id = \(before.record.id) AND version = \(before.version)
                    RETURNING \(fragment: Self.customerColumns)
                ), recorded AS (
                    INSERT INTO state_history (
                        record_type, record_id, state_before, state_after, caused_by, request_id, detail)
                    SELECT 'customer', id, \(before.record.state.rawValue), state, \(cause.actor), \(cause.requestID),
                        \(event)
                    FROM changed WHERE state <> \(before.record.state.rawValue)
                )
                SELECT * FROM changed
                """
            ).first.map(readCustomer)
        } catch let error as DatabaseError where error.isUniqueViolation(of: "one_customer_per_belvo_id") {
            throw BelvoIDRepeated()
        }
    }

    /// Takes up to `limit` customers whose poll is due, for so long, oldest first. See `claimDue`.
    package func claimDueCustomers(limit: Int, lease: Duration) async throws -> [Stored<Customer>] {
        let rows = try await claimDue(in: .customers, limit: limit, lease: lease, giving: Self.customerColumns)
        return readEach(rows, of: "customers", readCustomer)
    }

    private func readCustomer(_ row: Row) throws -> Stored<Customer> {
        let id: Customer.ID = try row.decode("id")
        let person = try vault.open(row.decode("person_ciphertext"), in: .customersPerson, of: id.uuid)
        return Stored(
            record: Customer(
                id: id, subject: try row.decode("subject"), person: try Customer.Person(json: person),
                state: try row.decode("state"), belvoID: try row.decode("belvo_id"),
                belvoCreatedAt: try row.decode("belvo_created_at"), failureCode: try row.decode("failure_code"),
                createdAt: try row.decode("created_at")),
            version: try row.decode("version"), updatedAt: try row.decode("updated_at"),
            deadline: try row.decode("deadline_at"), clock: try clock(row))
    }

    private func seal(_ customer: Customer) -> [UInt8] {
        vault.seal(customer.person.json, in: .customersPerson, of: customer.id.uuid)
    }
}

extension Customer.Person {
    /// The encrypted data of a person: one small JSON text.
    fileprivate var json: [UInt8] {
        JSONWriter.object { person in
            person.member("name", name.text)
            person.member("tax_id", taxID.text)
            person.member("email", email?.text)
            person.member("phone", phone?.text)
        }
    }

    fileprivate init(json bytes: [UInt8]) throws {
        let reader = JSONReader(try JSONDocument(parsing: bytes).root)
        let name = reader.string("name")
        let taxID = reader.string("tax_id")
        guard let name, let taxID else { throw reader.faults }
        self.init(
            name: try PersonName(name), taxID: try TaxID(taxID),
            email: try reader.optionalString("email").map { try EmailAddress($0) },
            phone: try reader.optionalString("phone").map { try PhoneNumber($0) })
    }
}

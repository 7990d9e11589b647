import Payments
import Postgres

/// An order as it stands, with the payment that decides how far it is.
package struct StoredOrder: Sendable {
    package let order: Order
    package let status: Order.Status
    /// The payment that has paid it, else one that may.
    package let payment: Payment.ID?
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
}

extension Store {
    /// The outcome of an attempt to place an order.
    package enum Placed: Sendable {
        case new(StoredOrder)
        case changed(StoredOrder)
        /// It was there already, letter by letter.
        case same(StoredOrder)
        /// A payment for its reference has been paid or may still be; nothing was changed. Without an order where
        /// there is none.
        case inUse(StoredOrder?)
    }

    /// Places an order, or changes one. Not while a payment for its reference may still be paid.
    package func place(_ order: Order) async throws -> Placed {
        try await place(order, triesLeft: Self.triesToPlace)
    }

    /// The number of times that it is sent. Of many that place one order at once PostgreSQL may refuse one in favor of
    /// the others each time.
    private static let triesToPlace = 8

    private func place(_ order: Order, triesLeft: Int) async throws -> Placed {
        do {
            let rows = try await database.execute(
                """
                INSERT INTO orders (
                    reference, subject, amount_centavos, description, statement_description, expires_at)
                VALUES (
                    \(order.reference), \(order.subject), \(order.amount.centavos), \(order.description),
                    \(order.statementDescription), \(order.expiresAt))
                ON CONFLICT ON CONSTRAINT one_order_per_reference DO UPDATE SET
                    subject = excluded.subject, amount_centavos = excluded.amount_centavos,
                    description = excluded.description, statement_description = excluded.statement_description,
                    expires_at = excluded.expires_at, updated_at = app_now()
                WHERE (orders.subject, orders.amount_centavos, orders.description, orders.statement_description,
                        orders.expires_at)
                    IS DISTINCT FROM (excluded.subject, excluded.amount_centavos, excluded.description,
                        excluded.statement_description, excluded.expires_at)
                RETURNING xmax = 0 AS is_new
                """)
            let isNew: Bool? = try rows.first?.decode("is_new")
            // It was deleted meanwhile, and is placed anew.
            guard let stored = try await self.order(order.reference) else {
                return try await place(order, triesLeft: triesLeft)
            }
            return switch isNew {
            case true?: .new(stored)
            case false?: .changed(stored)
            case nil: .same(stored)
            }
        } catch let error as DatabaseError where error.isRefusal(by: "orders_in_use_stay_as_they_are") {
            return .inUse(try await self.order(order.reference))
        } catch let error as DatabaseError where error.state?.isTransient == true && triesLeft > 1 {
            return try await place(order, triesLeft: triesLeft - 1)
        }
    }

    /// The order of this reference, of any user.
    package func order(_ reference: Reference) async throws -> StoredOrder? {
        try await database.rows(Self.askingForOrder(reference)).first.map(readOrder)
    }

    /// The statement of `order`; without a reference it finds none.
    static func askingForOrder(_ reference: Reference?) -> SQL {
        """
        SELECT orders.reference, orders.subject, orders.amount_centavos, orders.description,
            orders.statement_description, orders.expires_at, orders.created_at, orders.updated_at,
            order_progress.payment_id, order_progress.status
        FROM orders JOIN order_progress USING (reference)
        WHERE orders.reference = \(reference)
        """
    }

    /// The part of a payment's insertion that holds on to its order: one row if the order still says what was read, and
    /// then it stays so until the payment is there; one row, too, if there is no order.
    func pricing(_ order: Order?) -> SQL {
        guard let order else { return "priced AS (SELECT 1 AS one)" }
        return """
            priced AS (
                SELECT 1 AS one FROM orders
                WHERE reference = \(order.reference) AND subject = \(order.subject)
                    AND amount_centavos = \(order.amount.centavos) AND description = \(order.description)
                    AND statement_description IS NOT DISTINCT FROM \(order.statementDescription)
                    AND (expires_at IS NULL OR expires_at > app_now())
                FOR SHARE
            )
            """
    }

    func readOrderTerms(_ row: Row) throws -> Order {
        Order(
            reference: try row.decode("reference"), subject: try row.decode("subject"),
            amount: Money(centavos: try row.decode("amount_centavos")), description: try row.decode("description"),
            statementDescription: try row.decode("statement_description"), expiresAt: try row.decode("expires_at"))
    }

    func readOrder(_ row: Row) throws -> StoredOrder {
        StoredOrder(
            order: try readOrderTerms(row), status: try row.decode("status"), payment: try row.decode("payment_id"),
            createdAt: try row.decode("created_at"), updatedAt: try row.decode("updated_at"))
    }
}

extension DatabaseError {
    /// Whether a constraint or a trigger that carries this name refused.
    func isRefusal(by constraint: String) -> Bool {
        if case .refused(let refusal) = self { refusal.constraint == constraint } else { false }
    }
}

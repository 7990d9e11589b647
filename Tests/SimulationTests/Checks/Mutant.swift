import Postgres

/// A guard that is taken out, to see whether the simulation notices: one that stands in the database or in a statement.
/// Guards in Swift are taken out by `./dev simulate-mutants` before it builds.
struct Mutant: Sendable {
    let name: String
    /// Changes the database before anything begins.
    var preparation: [SQL] = []
    /// Changes a statement on its way.
    var rewrite: @Sendable (String) -> String = { $0 }

    static let all = [
        // The sources themselves were changed before they were built.
        Mutant(name: "sources"),
        // An attempt begins, and is authorized, beside others.
        Mutant(
            name: "one_at_a_time",
            preparation: [
                "ALTER TABLE payments DISABLE TRIGGER payments_begin_alone",
                "ALTER TABLE payments DISABLE TRIGGER payments_are_authorized_alone",
            ],
            rewrite: {
                $0.replacing("AND takes_reference(payments)", with: "AND false")
            }),
        Mutant(
            name: "authorized_alone",
            preparation: ["ALTER TABLE payments DISABLE TRIGGER payments_are_authorized_alone"]),
        Mutant(
            name: "token_holders",
            preparation: [
                """
                CREATE OR REPLACE FUNCTION holds_widget_token(holder text) RETURNS boolean LANGUAGE sql STABLE
                AS 'SELECT false'
                """
            ]),
        Mutant(
            name: "alarms_raised",
            preparation: ["ALTER TABLE payments DISABLE TRIGGER payments_that_arrive_are_checked"]),
        Mutant(
            name: "fencing_token", rewrite: { $0.replacing(" AND version = $", with: " AND 0 <= $") }),
        Mutant(
            name: "order_in_use", preparation: ["DROP TRIGGER orders_in_use_stay_as_they_are ON orders"]),
        Mutant(
            name: "price_held", rewrite: { $0.replacing(" AND amount_centavos = $", with: " AND 0 < $") }),
        Mutant(
            name: "key_claimed_once",
            rewrite: {
                let claim = "ON CONFLICT ON CONSTRAINT idempotency_keys_are_scoped DO"
                return $0.replacing(
                    "\(claim) NOTHING", with: "\(claim) UPDATE SET record_id = excluded.record_id")
            }),
    ]
}

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
        Mutant(name: "unique_reference", preparation: ["DROP INDEX one_live_payment_per_reference"]),
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
        // In the statement, and in the question before it: each alone is backed by the other.
        Mutant(
            name: "unless_paid",
            rewrite: {
                $0.replacing("AND NOT ($", with: "AND NOT (false AND $").replacing(
                    " AND status = $2 AND reference = $3", with: " AND status = $2 AND reference = $3 AND false")
            }),
    ]
}

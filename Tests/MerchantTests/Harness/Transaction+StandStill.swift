import Postgres

extension Transaction {
    /// Lets the transaction hold its locks without a statement for as long as the test needs
    /// (`idle_in_transaction_session_timeout`).
    func standStill() async throws {
        try await execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
    }
}

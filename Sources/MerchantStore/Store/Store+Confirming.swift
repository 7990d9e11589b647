import Postgres

extension Store {
    /// Runs a request that may change something, and commits a message of no content where it has changed nothing and
    /// its answer says that something is so.
    ///
    /// What such a request has read may be a row whose commit no standby has: PostgreSQL shows it once the wait for the
    /// standby was cancelled. Its log is in order, so that the message's commit is confirmed after that one's. Wraps
    /// `pg_logical_emit_message`. Throws what the body throws, and a database error where the commit is not confirmed.
    package nonisolated(nonsending) func confirming<Value: Sendable>(
        _ body: () async throws -> Value, where saysThatItIsSo: (Value) -> Bool
    ) async throws -> Value {
        let witness = CommitWitness()
        let value = try await CommitWitness.$current.withValue(witness) { try await body() }
        if !witness.hasCommitted, saysThatItIsSo(value) {
            try await database.execute("SELECT pg_logical_emit_message(true, 'merchant', '')")
        }
        return value
    }
}

import Transport

/// What every session is told at its beginning.
struct SessionSettings {
    let statement: SQL

    /// With `isReadOnly` the session refuses to change anything.
    init(_ configuration: DatabaseConfiguration, isReadOnly: Bool) {
        // Otherwise not mentioned: an operator may switch it on for everybody, also while sessions are open.
        let readOnly: SQL = isReadOnly ? ", set_config('default_transaction_read_only', 'on', false)" : ""
        statement = """
            SELECT set_config('TimeZone', 'UTC', false),
                set_config('statement_timeout', \(Self.milliseconds(configuration.statementTimeout)), false),
                set_config('lock_timeout', \(Self.milliseconds(configuration.lockTimeout)), false),
                set_config('idle_in_transaction_session_timeout',
                    \(Self.milliseconds(configuration.idleInTransactionTimeout)), false)
                \(fragment: readOnly)
            """
    }

    /// At least 1, because 0 means none.
    private static func milliseconds(_ duration: Duration) -> String {
        String(max(1, min(Int64(Int32.max), duration.wholeNanoseconds / 1_000_000)))
    }
}

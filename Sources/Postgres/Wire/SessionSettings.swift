import Transport

/// The settings of every session.
struct SessionSettings {
    let statement: SQL

    /// The settings of a session; with `isReadOnly` it refuses every change.
    init(_ configuration: DatabaseConfiguration, isReadOnly: Bool) {
        // The guards of the schema see what was committed before each of their statements, whatever level is set for
        // the role, the database or the server.
        // Otherwise not mentioned: an operator may switch it on for everybody, also while sessions are open.
        let readOnly: SQL = isReadOnly ? ", set_config('default_transaction_read_only', 'on', false)" : ""
        // What was confirmed to a client is on disk, and at a synchronous standby where there is one, whatever is set
        // for the role, the database or the server: `off` and `local` do not wait for that. The other levels do, and
        // stay. Said here, it cannot be changed under a session that is open.
        // As `replica` a session would leave out the triggers, which guard the money. Only a superuser may set it back:
        // another role's session fails, and says so.
        statement = """
            SELECT set_config('TimeZone', 'UTC', false),
                set_config('default_transaction_isolation', 'read committed', false),
                set_config('synchronous_commit',
                    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                        ELSE current_setting('synchronous_commit') END,
                    false),
                CASE WHEN current_setting('session_replication_role') <> 'origin'
                    THEN set_config('session_replication_role', 'origin', false) END,
                set_config('statement_timeout', \(Self.milliseconds(configuration.statementTimeout)), false),
                set_config('lock_timeout', \(Self.milliseconds(configuration.lockTimeout)), false),
                set_config('idle_in_transaction_session_timeout',
                    \(Self.milliseconds(configuration.idleInTransactionTimeout)), false),
                current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes
                \(fragment: readOnly)
            """
    }

    /// Settings of the server's that no session can mend, and that are off: a machine that fails may then lose or
    /// damage what was confirmed. `answer` is that of the statement.
    static func turnedOff(in answer: Rows) throws(DatabaseError) -> [String] {
        var names: [String] = []
        for name in ["fsync", "full_page_writes"] {
            if let row = answer.first, try row[name, as: String.self] == "off" { names.append(name) }
        }
        return names
    }

    /// At least 1, because 0 means none.
    private static func milliseconds(_ duration: Duration) -> String {
        String(max(1, min(Int64(Int32.max), duration.wholeNanoseconds / 1_000_000)))
    }
}

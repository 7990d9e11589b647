/// Why a statement gave no usable result.
///
/// The cases differ in what the caller may do next. A cancelled task gets a `CancellationError` instead, and only
/// before anything was sent or while it was reading.
///
/// No description holds a parameter or a value of a row: PostgreSQL puts such values into its messages and details
/// ("Key (tax_number)=(…) already exists"), and what an error says ends in a log sooner or later.
public enum DatabaseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nothing was done: no connection, a full queue, the deadline before anything was sent, a transaction that ended
    /// before its COMMIT was sent, or a read. Safe to try again.
    case unavailable(reason: String)
    /// A write or a COMMIT was sent and no certain answer came. Only reading can tell whether it was done.
    case outcomeUnknown(reason: String)
    /// PostgreSQL said no, and undid the statement or the transaction. The same again gives the same, unless the
    /// state `isTransient`.
    case refused(StatementError)
    /// The statement was done, but its result does not hold what the caller reads from it.
    case decoding(DecodingFault)

    /// The refusal of a value that exists already, as long as it is the named constraint's.
    public func isUniqueViolation(of constraint: String) -> Bool {
        guard case .refused(let refusal) = self else { return false }
        return refusal.state == .uniqueViolation && refusal.constraint == constraint
    }

    /// The state with which PostgreSQL refused, if it did.
    public var state: SQLState? {
        if case .refused(let refusal) = self { refusal.state } else { nil }
    }

    public var description: String {
        switch self {
        case .unavailable(let reason): "the database is unavailable: \(reason)"
        case .outcomeUnknown(let reason): "the database's answer was lost: \(reason)"
        case .refused(let refusal): "the database refused: \(refusal)"
        case .decoding(let fault): "the database's result is not as expected: \(fault)"
        }
    }
}

/// PostgreSQL's error for a statement that it did not execute, without its texts.
public struct StatementError: Sendable, Equatable, CustomStringConvertible {
    public var state: SQLState
    /// The name of the constraint that was violated (`PG_DIAG_CONSTRAINT_NAME`).
    public var constraint: String?
    public var table: String?
    public var column: String?
    /// PostgreSQL's own sentence, only for mistakes in the statement itself (class 42): such a sentence is made of
    /// the statement's text. Those of other classes quote values and are dropped on receipt.
    public var message: String?

    public init(
        state: SQLState, constraint: String? = nil, table: String? = nil, column: String? = nil, message: String? = nil
    ) {
        self.state = state
        self.constraint = constraint
        self.table = table
        self.column = column
        self.message = message
    }

    public var description: String {
        var text = "SQLSTATE \(state)"
        if let constraint { text += ", constraint \(constraint)" }
        if let table { text += ", table \(table)" }
        if let column { text += ", column \(column)" }
        if let message { text += ", \(message)" }
        return text
    }
}

/// A column that cannot be read as the Swift type asked for.
public struct DecodingFault: Sendable, Equatable, CustomStringConvertible {
    public var column: String
    /// Nothing when the result has no such column or row.
    public var mismatch: ValueMismatch?

    public init(column: String, mismatch: ValueMismatch?) {
        self.column = column
        self.mismatch = mismatch
    }

    public var description: String {
        mismatch.map { "column \(column): \($0)" } ?? "there is no column \(column)"
    }
}

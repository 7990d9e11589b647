/// PostgreSQL's five characters for what went wrong (PostgreSQL documentation, Appendix A).
public struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public static let warning = SQLState(rawValue: "01000")
    public static let featureNotSupported = SQLState(rawValue: "0A000")
    public static let characterNotInRepertoire = SQLState(rawValue: "22021")
    public static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    public static let notNullViolation = SQLState(rawValue: "23502")
    public static let foreignKeyViolation = SQLState(rawValue: "23503")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let checkViolation = SQLState(rawValue: "23514")
    public static let exclusionViolation = SQLState(rawValue: "23P01")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    public static let inFailedTransaction = SQLState(rawValue: "25P02")
    public static let invalidStatementName = SQLState(rawValue: "26000")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let tooManyConnections = SQLState(rawValue: "53300")
    public static let tooManyArguments = SQLState(rawValue: "54023")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    /// A timeout (`statement_timeout`) or a cancel request stopped the statement.
    public static let queryCanceled = SQLState(rawValue: "57014")
    public static let adminShutdown = SQLState(rawValue: "57P01")
    public static let crashShutdown = SQLState(rawValue: "57P02")
    public static let cannotConnectNow = SQLState(rawValue: "57P03")
    public static let undefinedTable = SQLState(rawValue: "42P01")

    /// The two characters that name the family: `23` for violated constraints, `42` for mistakes in the statement.
    public var category: Substring { rawValue.prefix(2) }

    /// The transaction lost against another one and may succeed when it is done again from its beginning.
    public var isTransient: Bool { self == .serializationFailure || self == .deadlockDetected }

    public var description: String { rawValue }
}

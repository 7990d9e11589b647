import CLibpq

/// An error or a warning of the server, or of libpq itself when there is no state.
struct ServerError {
    /// Nothing when libpq made the error up because the connection failed.
    let state: SQLState?
    /// The server ends the connection after this.
    let isFatal: Bool
    /// The function in PostgreSQL's source that raised it; unlike the message it is never translated.
    let function: String?
    let refusal: StatementError

    /// Wraps `PQresultErrorField`.
    init(of result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            guard let ascii = code.asciiValue, let text = PQresultErrorField(result, Int32(ascii)) else { return nil }
            return String(cString: text)
        }
        let state = field("C").map(SQLState.init(rawValue:))
        self.state = state
        let severity = field("V")
        isFatal = severity == "FATAL" || severity == "PANIC"
        function = field("R")
        refusal = StatementError(
            state: state ?? SQLState(rawValue: "08006"), constraint: field("n"), table: field("t"),
            column: field("c"), message: state?.category == "42" ? field("M") : nil)
    }

    /// The prepared statement is not there or no longer fits the tables; it has to be prepared anew. The statement
    /// itself was not run.
    var isStaleStatement: Bool {
        state == .invalidStatementName || (state == .featureNotSupported && function == "RevalidateCachedQuery")
    }

    /// This server takes no writes or no work at all: the primary is to be looked for again.
    var isOfWrongServer: Bool {
        switch state {
        case .readOnlyTransaction, .adminShutdown, .crashShutdown, .cannotConnectNow: true
        default: false
        }
    }
}

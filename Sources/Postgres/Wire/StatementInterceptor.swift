/// The hook that every statement passes between its caller and the connections. A server has none.
///
/// A simulation holds statements here, so that it decides their order; loses them on their way, or their answers; and
/// takes a guard out of a statement to see whether a check notices. What it throws in the place of an answer is a
/// `DatabaseError` that could have come from a connection.
package struct StatementInterceptor: Sendable {
    /// The kind of a statement.
    package enum Kind: Sendable {
        case read
        case write
        /// Several statements that are done together; they pass as one, without a text.
        case transaction
    }

    /// Called with each statement. `send` executes it, and takes it as it is to be sent.
    package let intercept:
        @Sendable (_ kind: Kind, _ statement: SQL, _ send: (SQL) async throws -> Void) async throws -> Void

    /// Takes what happens on the way; it calls `send` once, or throws.
    package init(
        intercept: @escaping @Sendable (Kind, SQL, (SQL) async throws -> Void) async throws -> Void
    ) {
        self.intercept = intercept
    }

    func intercept<Value>(
        _ kind: Kind, _ statement: SQL, _ send: (SQL) async throws -> Value
    ) async throws -> Value {
        var value: Value?
        try await intercept(kind, statement) { value = try await send($0) }
        guard let value else { throw DatabaseError.unavailable(reason: "the statement was not sent") }
        return value
    }
}

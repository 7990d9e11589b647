import HTTP

/// Finds the operation that a method and a path stand for.
struct Router: Sendable {
    /// The result of a search.
    enum Match: Sendable, Equatable {
        /// The operation, with the text that stands for the name in braces.
        case operation(Operation, id: String?)
        /// The path exists, with these methods only.
        case otherMethod(allowed: [String])
        case nothing
    }

    private let operations = Operation.allCases
    private let table: RouteTable

    init() {
        table = RouteTable(operations.map { ($0.method, "\($0.path)") })
    }

    func match(_ method: HTTP.Method, _ path: String) -> Match {
        switch table.match(method, path) {
        case .route(let place, let id): .operation(operations[place], id: id)
        case .otherMethod(let allowed): .otherMethod(allowed: allowed)
        case .nothing: .nothing
        }
    }
}

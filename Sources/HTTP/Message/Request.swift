/// A request with its whole body.
public struct Request: Sendable {
    public var method: Method
    public var target: Target
    public var headers: Headers
    public var body: [UInt8]

    public init(_ method: Method, _ target: Target, headers: Headers = Headers(), body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// The target of a request: a path and a query, both still percent-encoded (RFC 9112 §3.2.1).
public struct Target: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The path as it was sent, beginning with a slash; `*` for the asterisk-form.
    public let path: String
    /// The query behind the question mark; nil without one.
    public let query: String?

    /// Takes parts that hold only what a request line may hold; anything else is our own mistake.
    public init(path: String, query: String? = nil) {
        precondition(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x23 })
        precondition(query?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 } ?? true)
        self.path = path
        self.query = query
    }

    /// Takes what the parser has checked.
    init(checkedPath path: String, query: String?) {
        self.path = path
        self.query = query
    }

    public init(stringLiteral text: String) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : nil)
    }

    public var description: String { query.map { "\(path)?\($0)" } ?? path }
}

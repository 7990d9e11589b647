/// An answer of Belvo's other than success, as far as its body could be read.
///
/// The messages come from outside. They are bounded and hold no control characters, and may still say
/// anything: they are plain text, never markup, and may repeat what a person typed. Printing a refusal
/// therefore shows its status, codes, fields and request id, which are words, and no message.
public struct ErrorResponse: Sendable, Equatable {
    public let status: Int

    /// The faults that Belvo names; empty when the body said nothing that could be read.
    public let items: [Item]

    /// Belvo's own id of the exchange, for its support.
    public let requestID: String?

    /// How long Belvo asks to wait before the next request (RFC 9110 §10.2.3), at most an hour.
    public let retryAfter: Duration?

    /// One fault, every part of it optional (belvo-api.md §1.1).
    public struct Item: Sendable, Equatable {
        /// A word such as `required`.
        public let code: String?
        /// A sentence in English, or the JSON text of whatever stood in its place.
        public let message: String?
        /// The member of the request that the fault is about.
        public let field: String?

        package init(code: String?, message: String?, field: String?) {
            self.code = code
            self.message = message
            self.field = field
        }
    }

    package init(status: Int, items: [Item] = [], requestID: String? = nil, retryAfter: Duration? = nil) {
        self.status = status
        self.items = items
        self.requestID = requestID
        self.retryAfter = retryAfter
    }

    /// The kind of a fault, by what a status says has to be mended.
    public enum Kind: Sendable, CaseIterable {
        /// The content of the request: 400, 422.
        case content
        /// Our credentials: 401.
        case credentials
        /// A permission that we lack, or a firewall's opinion: 403.
        case permission
        /// No such object, or no such path: 404, 410.
        case notFound
        /// The state of the object: 409.
        case conflict
        /// Too many requests, or too early: 429, 425.
        case throttled
        /// The way we speak, such as a method or a media type: any other 4xx.
        case usage
        /// Belvo's own trouble: 408, 5xx.
        case server
    }

    public var kind: Kind {
        switch status {
        case 400, 422: .content
        case 401: .credentials
        case 403: .permission
        case 404, 410: .notFound
        case 409: .conflict
        case 425, 429: .throttled
        case 408, 500...: .server
        default: .usage
        }
    }
}

extension ErrorResponse: CustomStringConvertible {
    public var description: String {
        let faults = items.compactMap { item in
            [item.field, item.code].compactMap(\.self).joined(separator: ": ")
        }
        let parts =
            ["status \(status)"] + faults.filter { !$0.isEmpty } + (requestID.map { ["request_id \($0)"] } ?? [])
        return parts.joined(separator: ", ")
    }
}

extension ErrorResponse.Item: CustomStringConvertible {
    public var description: String { "\(field ?? "-"): \(code ?? "-")" }
}

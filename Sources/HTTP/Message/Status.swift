/// A response's status code, 100 to 599 (RFC 9110 §15).
public struct Status: Hashable, Sendable, CustomStringConvertible {
    public let code: Int

    /// Takes one of our own codes. What came over a wire goes through `init(parsed:)`.
    public init(_ code: Int) {
        precondition((100...599).contains(code), "a status code has three digits, 100 to 599")
        self.code = code
    }

    /// Takes a code that came over a wire, or nothing when it is outside 100 to 599.
    public init?(parsed code: Int) {
        guard (100...599).contains(code) else { return nil }
        self.code = code
    }

    public var description: String { "\(code) \(reason)" }
    public var isSuccess: Bool { (200...299).contains(code) }

    /// Whether a response with this status ends after its header section (RFC 9112 §6.3, rule 1).
    public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }

    public static let ok = Status(200)
    public static let created = Status(201)
    public static let accepted = Status(202)
    public static let noContent = Status(204)
    public static let notModified = Status(304)
    public static let badRequest = Status(400)
    public static let unauthorized = Status(401)
    public static let forbidden = Status(403)
    public static let notFound = Status(404)
    public static let methodNotAllowed = Status(405)
    public static let requestTimeout = Status(408)
    public static let conflict = Status(409)
    public static let gone = Status(410)
    public static let contentTooLarge = Status(413)
    public static let uriTooLong = Status(414)
    public static let unsupportedMediaType = Status(415)
    public static let expectationFailed = Status(417)
    public static let unprocessableContent = Status(422)
    public static let tooManyRequests = Status(429)
    public static let requestHeaderFieldsTooLarge = Status(431)
    public static let internalServerError = Status(500)
    public static let notImplemented = Status(501)
    public static let badGateway = Status(502)
    public static let serviceUnavailable = Status(503)
    public static let gatewayTimeout = Status(504)
    public static let httpVersionNotSupported = Status(505)

    /// The phrase that RFC 9110 gives the code; empty for a code it does not name.
    public var reason: String { phrase.description }

    /// The phrase as it is written into a status line, without making a string of it.
    var phrase: StaticString {
        switch code {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}

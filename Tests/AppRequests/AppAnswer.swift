import HTTP
import JSON

/// An answer that an app has heard.
public struct AppAnswer: Sendable {
    public let status: Int
    public let body: [UInt8]

    public init(_ response: Response) {
        status = response.status.code
        body = response.body
    }

    public var isSuccess: Bool { (200..<300).contains(status) }
    /// Nil for a body that is no JSON, or none.
    public var json: JSONValue? { try? JSONDocument(parsing: body).root }
    /// The `code` of a problem document (RFC 9457).
    public var problem: String? { json?["code"]?.string }
    /// Whether the same request may be answered otherwise in a moment.
    public var isForNow: Bool { status >= 500 || status == 429 || problem == "in_progress" }
    public var text: String { "\(status) \(String(decoding: body.prefix(400), as: UTF8.self))" }

    public subscript(name: String) -> JSONValue? { json?[name] }
}

/// An answer that no app should get.
public struct Unexpected: Error, CustomStringConvertible {
    public let description: String

    public init(_ what: String, _ answer: JSONValue) {
        description = "\(what): \(String(decoding: answer.raw, as: UTF8.self))"
    }

    public init(_ request: AppRequest, _ answer: AppAnswer?) {
        description = "\(request.method) \(request.path) was answered \(answer?.text ?? "not at all")"
    }

    public init(_ request: Request, _ response: Response) {
        description = "\(request.method) \(request.target) was answered \(AppAnswer(response).text)"
    }
}

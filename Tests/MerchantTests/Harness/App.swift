import AppRequests
import FoundationEssentials
import HTTP
import JSON
import Testing

/// A user's app: sends requests, and compares each whole answer with the one that the test shows.
struct App: Sendable {
    let client: HTTP.Client
    let token: String?

    /// Sends a request and returns the answer.
    @discardableResult
    func send(
        _ method: HTTP.Method, _ target: String, _ body: String? = nil, headers: KeyValuePairs<HeaderName, String> = [:]
    ) async throws -> Answer {
        var request = request(method, target, body, headers)
        if body != nil { request.headers.append("content-type", "application/json") }
        return Answer(try await client.send(request, deadline: .seconds(20)))
    }

    /// Sends a request that all apps send in these words.
    @discardableResult
    func send(_ request: AppRequest) async throws -> Answer {
        Answer(try await client.send(request.message(token: token ?? ""), deadline: .seconds(20)))
    }

    /// Sends a body under the media type that `headers` name, or under none.
    func raw(
        _ method: HTTP.Method, _ target: String, body: String, headers: KeyValuePairs<HeaderName, String>
    ) async throws -> Answer {
        Answer(try await client.send(request(method, target, body, headers), deadline: .seconds(20)))
    }

    private func request(
        _ method: HTTP.Method, _ target: String, _ body: String?, _ headers: KeyValuePairs<HeaderName, String>
    ) -> Request {
        var request = Request(method, Target(stringLiteral: target), body: body.map { Array($0.utf8) } ?? [])
        if let token { request.headers.append("authorization", "Bearer \(token)") }
        for (name, value) in headers { request.headers.append(name, value) }
        return request
    }
}

/// An answer, ready to be compared and read.
struct Answer: Sendable {
    let response: Response

    init(_ response: Response) {
        self.response = response
    }

    var status: Int { response.status.code }
    var text: String { String(decoding: response.body, as: UTF8.self) }

    /// The body's root.
    var json: JSONValue {
        get throws { try JSONDocument(parsing: response.body, limits: .tolerant).root }
    }

    /// A text in the body, by the names on the way to it.
    func string(_ path: String...) throws -> String {
        let value = try path.reduce(json) { value, name in try #require(value[name], "no \(name) in \(text)") }
        return try #require(value.string)
    }

    /// One member of each object in an array of the body.
    func each(_ member: String, in array: String) throws -> [String?] {
        try #require(json[array], "no \(array) in \(text)").elements.map { $0[member]?.string }
    }

    /// A value's JSON text.
    func raw(_ path: String...) throws -> String {
        let value = try path.reduce(json) { value, name in try #require(value[name], "no \(name) in \(text)") }
        return String(decoding: value.raw, as: UTF8.self)
    }
}

/// The dialog of app and server, in order, with values that differ from run to run written as names.
///
/// Ids are numbered as they first appear, so that a transcript also shows which of them are the same.
final class Transcript {
    private var names: [String: String] = [:]
    private var counts: [String: Int] = [:]

    /// Compares an answer with the expected text: the status, then the body.
    func expect(
        _ answer: Answer, _ expected: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let body = pretty(answer)
        let text = body.isEmpty ? "\(answer.response.status)" : "\(answer.response.status)\n\(body)"
        let shown = normalized(text)
        #expect(shown == expected, "\n\(shown)\n", sourceLocation: sourceLocation)
    }

    /// One member a line, so that a difference is seen at a glance.
    private func pretty(_ answer: Answer) -> String {
        guard let root = try? answer.json else { return answer.text }
        return Self.pretty(root, indent: "")
    }

    private static func pretty(_ value: JSONValue, indent: String) -> String {
        let deeper = indent + "  "
        switch value.kind {
        case .object:
            let members = value.members.map { "\(deeper)\($0.name): \(pretty($0.value, indent: deeper))" }
            return members.isEmpty ? "{}" : "{\n\(members.joined(separator: "\n"))\n\(indent)}"
        case .array:
            let elements = value.elements.map { "\(deeper)\(pretty($0, indent: deeper))" }
            return elements.isEmpty ? "[]" : "[\n\(elements.joined(separator: "\n"))\n\(indent)]"
        default: return String(decoding: value.raw, as: UTF8.self)
        }
    }

    private func normalized(_ text: String) -> String {
        var text = text
        for (kind, pattern) in Self.volatile {
            text = text.replacing(pattern) { match in name(of: String(match.output), kind: kind) }
        }
        return text
    }

    private func name(of value: String, kind: String) -> String {
        if kind == "time" { return "‹time›" }
        if let known = names[value] { return known }
        counts[kind, default: 0] += 1
        let isQuoted = kind.hasPrefix("\"")
        let bare = "‹\(kind.filter { $0 != "\"" }) \(counts[kind, default: 0])›"
        let name = isQuoted ? "\"\(bare)\"" : bare
        names[value] = name
        return name
    }

    /// The values that differ from run to run, by their patterns.
    private static var volatile: [(String, Regex<Substring>)] {
        [
            ("time", /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/),
            ("day", /\d{4}-\d\d-\d\d(?=")/),
            ("end-to-end id", /E\d{20}[A-Za-z0-9]{11}/),
            ("id", /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/),
            ("token", /eyJ[A-Za-z0-9_.-]{40,}/),
            ("url", /https:\/\/127\.0\.0\.1[^"\s]*/),
            ("\"random\"", /"[A-Za-z0-9_-]{40,}"/),
        ]
    }
}

import Belvo
import JSON

/// The shape of an answer without its values: each member's path and kind, in order. Nothing secret and nothing
/// personal is left; of texts only those words stay that a document lists, such as a status.
struct AnswerShape: Sendable, Equatable {
    /// Path to kinds, as `results[].status` to `word PENDING`.
    private(set) var members: [String: Set<String>] = [:]

    /// The last parts of paths whose texts are words of Belvo's, and no personal data.
    private static let wordMembers: Set<String> = [
        "status", "phase", "type", "code", "country", "currency", "customer_type", "identifier_type", "failure_code",
        "status_reason_code", "webhook_type", "webhook_code", "transaction_type",
    ]

    init(_ root: JSONValue) {
        add(root, at: "")
    }

    /// One line for each member.
    var lines: [String] {
        members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.sorted().joined(separator: " | "))" }
    }

    private mutating func add(_ value: JSONValue, at path: String) {
        switch value.kind {
        case .object:
            if !path.isEmpty { members[path, default: []].insert("object") }
            for (name, member) in value.members {
                let name = Self.isName(name) ? name : "*"
                add(member, at: path.isEmpty ? name : "\(path).\(name)")
            }
        case .array:
            members["\(path)[]", default: []].insert("list")
            for element in value.elements { add(element, at: "\(path)[]") }
        case .string: members[path, default: []].insert(Self.kind(of: value.string ?? "", at: path))
        case .number: members[path, default: []].insert("number")
        case .bool: members[path, default: []].insert("true or false")
        case .null: members[path, default: []].insert("null")
        }
    }

    /// Whether this is a member's name, and not something personal in the place of one.
    private static func isName(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_-]{0,63}/) != nil && PlainWord.isCode(text)
    }

    private static func kind(of text: String, at path: String) -> String {
        if text.isEmpty { return "empty text" }
        if text.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil { return "uuid" }
        if text.wholeMatch(of: /\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)/) != nil { return "moment" }
        if text.wholeMatch(of: /-?\d+\.\d+/) != nil { return "decimal in a text" }
        if text.hasPrefix("https://") || text.hasPrefix("http://") { return "address" }
        let last = path.split(separator: ".").last.map(String.init) ?? ""
        if wordMembers.contains(last), text.wholeMatch(of: /[A-Za-z_]{1,48}/) != nil { return "word \(text)" }
        return "text"
    }
}

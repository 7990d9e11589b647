import HTTP

/// Finds the operation that a method and a path stand for.
///
/// Paths without an id are looked up whole; those with one are compared segment by segment. A trailing slash means
/// the same as none.
struct Router: Sendable {
    /// What was found.
    enum Match: Sendable, Equatable {
        /// The operation, with the text that stands for the name in braces.
        case operation(Operation, id: String?)
        /// The path exists, with these methods only.
        case otherMethod(allowed: [String])
        case nothing
    }

    private let fixed: [String: [Operation]]
    private let patterns: [(segments: [Substring], operations: [Operation])]

    init(_ operations: [Operation] = Operation.allCases) {
        let byPath = Dictionary(grouping: operations) { "\($0.path)" }
        fixed = byPath.filter { !$0.key.contains("{") }
        patterns = byPath.filter { $0.key.contains("{") }.map { (Router.segments($0.key), $0.value) }
    }

    func match(_ method: HTTP.Method, _ path: String) -> Match {
        if let found = fixed[path] { return choose(method, among: found, id: nil) }
        let trimmed = path.utf8.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        if let found = fixed[trimmed] { return choose(method, among: found, id: nil) }
        let segments = Router.segments(trimmed)
        for pattern in patterns where pattern.segments.count == segments.count {
            if let id = Router.id(in: segments, by: pattern.segments) {
                return choose(method, among: pattern.operations, id: id)
            }
        }
        return .nothing
    }

    private func choose(_ method: HTTP.Method, among operations: [Operation], id: String?) -> Match {
        // HEAD is GET without the body, which the server leaves out (RFC 9110 §9.3.2).
        let wanted = method == .head ? .get : method
        if let found = operations.first(where: { $0.method == wanted }) { return .operation(found, id: id) }
        let methods = Set(operations.map(\.method.rawValue))
        return .otherMethod(allowed: methods.union(methods.contains("GET") ? ["HEAD"] : []).sorted())
    }

    private static func segments(_ path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }

    private static func id(in segments: [Substring], by pattern: [Substring]) -> String? {
        var id: String?
        for (segment, part) in zip(segments, pattern) {
            if part.first == "{" {
                guard !segment.isEmpty else { return nil }
                id = String(segment)
            } else if segment != part {
                return nil
            }
        }
        return id
    }
}

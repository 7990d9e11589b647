/// Finds the route that a method and a path stand for, by its place in the list that it was made of.
///
/// Paths without a name in braces are looked up whole; those with one are compared byte by byte before and behind it. A
/// trailing slash means the same as none.
public struct RouteTable: Sendable {
    /// The result of a search.
    public enum Match: Sendable, Equatable {
        /// The route's place in the list, with the text that stands for the name in braces.
        case route(Int, id: String?)
        /// The path exists, with these methods only.
        case otherMethod(allowed: [String])
        case nothing
    }

    private typealias Route = (method: Method, place: Int)

    private let fixed: [String: [Route]]
    private let patterns: [Pattern]

    /// Takes methods and paths; a path may hold one name in braces, which stands for a whole segment:
    /// `/orders/{reference}`.
    public init(_ routes: [(method: Method, path: String)]) {
        let byPath = Dictionary(grouping: routes.enumerated(), by: \.element.path)
            .mapValues { $0.map { (method: $0.element.method, place: $0.offset) } }
        fixed = byPath.filter { !$0.key.contains("{") }
        patterns = byPath.filter { $0.key.contains("{") }.map { Pattern($0.key, $0.value) }
    }

    /// The route of a request. HEAD is GET without the body, which the server leaves out (RFC 9110 §9.3.2).
    public func match(_ method: Method, _ path: String) -> Match {
        if let found = fixed[path] { return choose(method, among: found, id: nil) }
        let bytes = path.utf8.span
        var count = bytes.count
        if count > 1, bytes[count - 1] == Octet.slash {
            count -= 1
            if let found = fixed[bytes.text(in: 0..<count)] { return choose(method, among: found, id: nil) }
        }
        for pattern in patterns {
            if let id = pattern.name(in: bytes.extracting(0..<count)) {
                return choose(method, among: pattern.routes, id: bytes.text(in: id))
            }
        }
        return .nothing
    }

    private func choose(_ method: Method, among routes: [Route], id: String?) -> Match {
        let wanted = method == .head ? .get : method
        if let found = routes.first(where: { $0.method == wanted }) { return .route(found.place, id: id) }
        let methods = Set(routes.map(\.method.rawValue))
        return .otherMethod(allowed: methods.union(methods.contains("GET") ? ["HEAD"] : []).sorted())
    }

    /// The routes of a path with a name in it.
    private struct Pattern: Sendable {
        private let head: [UInt8]
        private let tail: [UInt8]
        let routes: [Route]

        init(_ path: String, _ routes: [Route]) {
            let parts = path.utf8.split(separator: UInt8(ascii: "{"), omittingEmptySubsequences: false)
            let behind = parts[1].split(separator: UInt8(ascii: "}"), omittingEmptySubsequences: false)
            precondition(parts.count == 2 && behind.count == 2, "a path holds one name in braces")
            head = Array(parts[0])
            tail = Array(behind[1])
            precondition(head.last == Octet.slash && (tail.isEmpty || tail.first == Octet.slash), "it is a segment")
            self.routes = routes
        }

        /// Where the segment lies that stands for the name; nil for a path that is not like this one.
        func name(in path: Span<UInt8>) -> Range<Int>? {
            guard path.count > head.count + tail.count else { return nil }
            let name = head.count..<path.count - tail.count
            guard path.firstIndex(of: Octet.slash, in: name) == nil,
                path.holds(head.span, at: 0), path.holds(tail.span, at: name.upperBound)
            else { return nil }
            return name
        }
    }
}

extension Span<UInt8> {
    /// Whether the bytes stand there. There has to be room for them.
    fileprivate func holds(_ other: Span<UInt8>, at start: Int) -> Bool {
        for place in other.indices where self[start + place] != other[place] { return false }
        return true
    }
}

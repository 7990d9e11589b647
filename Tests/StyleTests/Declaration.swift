/// The head of a declaration, read as far as a rule about style needs it.
struct Declaration {
    let keyword: Substring
    /// The name; of an initializer or a subscript with its first label: `init(parsing`. Empty for an operator.
    let name: String
    let isOneLine: Bool
    private let modifiers: [Substring]
    /// As far as the brace that opens the body.
    private let signature: String

    /// Nil when the line does not begin with a declaration.
    init?(_ lines: [Substring], at index: Int) {
        var text = Self.withoutAttributes(lines[index].trimmed)
        var modifiers: [Substring] = []
        while true {
            let word = text.prefix { $0.isLetter }
            text = text.dropFirst(word.count)
            // `class` is a modifier in `class func`.
            let following = text.trimmed.prefix { $0.isLetter }
            if Self.keywords.contains(word), !(word == "class" && Self.keywords.contains(following)) {
                keyword = word
                break
            }
            guard Self.modifiers.contains(word) || word == "class" else { return nil }
            if text.hasPrefix("(") {
                // `private(set)` says nothing about who may read.
                text = text.drop { $0 != ")" }.dropFirst()
            } else {
                modifiers.append(word)
            }
            text = text.trimmed
        }
        self.modifiers = modifiers

        var last = index
        while keyword == "init", !lines[last].contains("{"), last + 1 < lines.endIndex { last += 1 }
        signature = lines[index...last].map { $0.trimmed }.joined(separator: " ")
        isOneLine = !lines[index].trimmed.hasSuffix("{") && !lines[index].trimmed.hasSuffix("(")

        if ["init", "subscript"].contains(keyword) {
            let parameters = signature.drop { $0 != "(" }.dropFirst()
            name = "\(keyword)(" + parameters.trimmed.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        } else {
            name = String(text.trimmed.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "`" })
        }
    }

    var isExported: Bool { modifiers.contains { ["public", "package", "open"].contains($0) } }
    var isPrivate: Bool { modifiers.contains { ["private", "fileprivate"].contains($0) } }
    var isOperator: Bool { name.isEmpty }
    var isProperty: Bool { ["var", "let"].contains(keyword) }

    /// An initializer that cannot fail takes the parts of its type, which have names of their own.
    var takesParts: Bool { keyword == "init" && !signature.contains("throws") && !signature.contains("init?") }

    private static func withoutAttributes(_ line: Substring) -> Substring {
        var text = line
        while text.hasPrefix("@") {
            text = text.drop { !$0.isWhitespace && $0 != "(" }
            if text.hasPrefix("(") { text = text.drop { $0 != ")" }.dropFirst() }
            text = text.trimmed
        }
        return text
    }

    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "typealias", "func", "var", "let", "init", "subscript", "macro",
        "associatedtype",
    ]
    private static let modifiers: Set<Substring> = [
        "public", "package", "open", "internal", "private", "fileprivate", "static", "final", "indirect", "mutating",
        "nonmutating", "consuming", "borrowing", "nonisolated", "override", "required", "convenience", "lazy", "weak",
        "unowned", "isolated", "distributed", "prefix", "postfix", "infix", "optional", "dynamic",
    ]
}

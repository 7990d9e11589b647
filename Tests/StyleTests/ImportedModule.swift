/// Reads import declarations.
enum ImportedModule {
    /// The module that a line imports: `HTTP` of `@testable import struct HTTP.Request`; nil for any other line.
    static func name(in line: Substring) -> String? {
        guard !line.isComment else { return nil }
        var words = line.trimmed.split(whereSeparator: \.isWhitespace)
        while let word = words.first, word != "import" {
            guard word.hasPrefix("@") || accessLevels.contains(word) else { return nil }
            words.removeFirst()
        }
        guard words.count > 1 else { return nil }
        if kinds.contains(words[1]) { words.remove(at: 1) }
        guard words.count > 1 else { return nil }
        // Also of `HTTP;` and `HTTP//`.
        return words[1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }.description
    }

    private static let accessLevels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "typealias", "func", "let", "var", "actor",
    ]
}

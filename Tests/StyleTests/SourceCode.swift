/// The code of a file, line by line: comments and the texts of string literals are left out, what is interpolated into
/// them is code.
struct SourceCode {
    let lines: [Substring]

    init(_ file: TextFile) {
        var reader = CodeReader(bytes: Array(file.lines.joined(separator: "\n").utf8))
        lines = reader.code().split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The names that stand alone, with their lines counted from 0: no members behind a point, no labels; a name in
    /// lower case only where it is called.
    var names: [(name: Substring, line: Int)] {
        lines.indices.flatMap { line in Self.names(in: lines[line]).map { ($0, line) } }
    }

    private static func names(in line: Substring) -> [Substring] {
        var found: [Substring] = []
        var rest = line
        var before: Character?
        while let first = rest.first {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            guard !word.isEmpty else {
                before = first
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(word.count)
            let isCalled = rest.first == "("
            if before != ".", word.first?.isUppercase == true || isCalled { found.append(word) }
            before = word.last
        }
        return found
    }
}

/// Reads Swift as far as telling code from comments and literals needs it.
private struct CodeReader {
    let bytes: [UInt8]
    private var place = 0
    private var output: [UInt8] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func code() -> String {
        readCode(untilParenthesis: false)
        return String(decoding: output, as: UTF8.self)
    }

    private mutating func readCode(untilParenthesis: Bool) {
        var depth = 0
        while place < bytes.count {
            if startsWith("//") {
                while place < bytes.count, bytes[place] != Self.lineFeed { place += 1 }
            } else if let hashes = literalStart() {
                readLiteral(hashes: hashes)
            } else {
                let byte = bytes[place]
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    if depth == 0, untilParenthesis { return }
                    depth -= 1
                }
                output.append(byte)
                place += 1
            }
        }
    }

    /// Reads a literal whose quotation mark comes next.
    private mutating func readLiteral(hashes: Int) {
        let isMultiline = startsWith("\"\"\"")
        let end = String(repeating: "\"", count: isMultiline ? 3 : 1) + String(repeating: "#", count: hashes)
        let escape = "\\" + String(repeating: "#", count: hashes)
        place += isMultiline ? 3 : 1
        output.append(UInt8(ascii: " "))
        while place < bytes.count {
            if startsWith(end) {
                place += end.utf8.count
                return
            }
            if startsWith(escape + "(") {
                place += escape.utf8.count + 1
                output.append(UInt8(ascii: " "))
                readCode(untilParenthesis: true)
                output.append(UInt8(ascii: " "))
            } else if startsWith(escape) {
                place += escape.utf8.count
            } else if bytes[place] == Self.lineFeed {
                output.append(Self.lineFeed)
                // Code that is not understood must not swallow the rest of the file.
                if !isMultiline { return }
            }
            place += 1
        }
    }

    /// How many `#` stand before a quotation mark that comes next; they are passed over. Nil where none comes.
    private mutating func literalStart() -> Int? {
        var end = place
        while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
        defer { place = end }
        return end - place
    }

    private func startsWith(_ text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

    private static let lineFeed = UInt8(ascii: "\n")
}

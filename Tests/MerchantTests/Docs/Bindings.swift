import JSON

/// The texts that a document's `<names>` stand for, and the comparison of what it shows with what came.
struct Bindings {
    private var texts: [String: String] = [:]

    subscript(name: String) -> String? {
        get { texts[name] }
        set { texts[name] = newValue }
    }

    /// The names in a text that nothing is bound to yet.
    func unbound(in text: String) -> [String] {
        text.matches(of: Self.name).map { String($0.output.1) }.filter { texts[$0] == nil }
    }

    /// The text with every name replaced.
    func filled(_ text: String) -> String {
        text.replacing(Self.name) { match in texts[String(match.output.1)] ?? String(match.output.0) }
    }

    /// The difference between a text and the one shown; nil when there is none. Names seen for the first time are
    /// bound.
    mutating func difference(_ shown: String, _ came: String) throws -> String? {
        var pattern = ""
        var names: [String] = []
        var rest = shown[...]
        while let piece = rest.firstMatch(of: /<([a-z][a-z 0-9-]*)>|…/) {
            pattern += Self.escaped(rest[..<piece.range.lowerBound])
            switch piece.output.1 {
            case nil: pattern += "(?s:.*?)"
            case "time": pattern += #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"#
            case "day": pattern += #"\d{4}-\d\d-\d\d"#
            case let name?:
                if let known = texts[String(name)] {
                    pattern += Self.escaped(known[...])
                } else {
                    pattern += #"([^"\s]+?)"#
                    names.append(String(name))
                }
            }
            rest = rest[piece.range.upperBound...]
        }
        pattern += Self.escaped(rest)
        guard let match = try Regex(pattern).wholeMatch(in: came) else { return "\(filled(shown)) is \(came)" }
        for (index, name) in names.enumerated() { texts[name] = match.output[index + 1].substring.map(String.init) }
        return nil
    }

    /// Every difference between a body as it is shown and as it came.
    mutating func differences(_ shown: JSONValue, _ came: JSONValue, at place: String = "") throws -> [String] {
        if shown.string == "…" { return [] }
        guard shown.kind == came.kind else { return ["\(place): not the same kind as \(Self.text(came))"] }
        switch shown.kind {
        case .object:
            var faults: [String] = []
            let isWhole = shown["…"] == nil
            for member in shown.members where member.name != "…" {
                guard let value = came[member.name] else {
                    faults.append("\(place)/\(member.name) is missing")
                    continue
                }
                faults += try differences(member.value, value, at: "\(place)/\(member.name)")
            }
            if isWhole {
                faults += came.members.filter { shown[$0.name] == nil }.map { "\(place)/\($0.name) is not shown" }
            }
            return faults
        case .array:
            var elements = Array(shown.elements)
            let isWhole = elements.last?.string != "…"
            if !isWhole { elements.removeLast() }
            let values = Array(came.elements)
            guard values.count == elements.count || !isWhole && values.count > elements.count else {
                return ["\(place) has \(values.count) elements"]
            }
            var faults: [String] = []
            for (index, element) in elements.enumerated() {
                faults += try differences(element, values[index], at: "\(place)/\(index)")
            }
            return faults
        case .string:
            return try difference(shown.string ?? "", came.string ?? "").map { ["\(place): \($0)"] } ?? []
        default:
            return shown.raw.elementsEqual(came.raw) ? [] : ["\(place) is \(Self.text(came))"]
        }
    }

    /// JSON with `…` where something was left out, as JSON that says the same.
    static func json(_ text: String) -> String {
        var result = ""
        var isInString = false
        var isEscaped = false
        var containers: [Character] = []
        var last: Character = " "
        for character in text {
            if isInString {
                if character == "\"", !isEscaped { isInString = false }
                isEscaped = character == "\\" && !isEscaped
            } else if character == "…" {
                result += containers.last == "{" && last != ":" ? #""…": null"# : #""…""#
                last = character
                continue
            } else {
                switch character {
                case "\"": isInString = true
                case "{", "[": containers.append(character)
                case "}", "]": _ = containers.popLast()
                default: break
                }
            }
            if !character.isWhitespace { last = character }
            result.append(character)
        }
        return result
    }

    static func escaped(_ text: Substring) -> String {
        text.unicodeScalars.map { scalar in
            scalar.isASCII && !scalar.properties.isAlphabetic && scalar.properties.numericType == nil && scalar != "\n"
                ? "\\\(scalar)" : "\(scalar)"
        }.joined()
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.raw, as: UTF8.self) }

    private static var name: Regex<(Substring, Substring)> { /<([a-z][a-z 0-9-]*)>/ }
}

/// A document that a comment cites, and the places in it that the comment names.
///
/// Written as `belvo-api.md §11, lines 4 and 5`, `merchant-api.md, "Time" and "Fine points"`,
/// `reliability.md, promise 12` or `docs/limits.md`.
struct Citation {
    /// The document's name or its path from the root of the checkout.
    let document: String
    private(set) var places: [Place] = []

    /// A place in a document.
    enum Place: Hashable, CustomStringConvertible {
        /// `§4.5`.
        case section(String)
        /// `§11, line 3`: a row that begins with this number, in the section before it.
        case line(String, section: String?)
        /// `"Fine points"`.
        case title(String)
        /// `promise 12`.
        case promise(String)

        var description: String {
            switch self {
            case .section(let number): "§\(number)"
            case .line(let number, let section): "\(section.map { "§\($0), " } ?? "")line \(number)"
            case .title(let title): "\"\(title)\""
            case .promise(let number): "promise \(number)"
            }
        }
    }

    /// Every citation of a Markdown document in a text without line feeds.
    static func all(in text: Substring) -> [Citation] {
        text.matches(of: #/[A-Za-z0-9_.\/-]+\.md\b/#).compactMap { match in
            // `https://` and what follows it is a document of another project.
            guard !match.output.hasPrefix("//") else { return nil }
            var citation = Citation(document: String(match.output))
            citation.readPlaces(from: text[match.range.upperBound...])
            return citation
        }
    }

    private mutating func readPlaces(from text: Substring) {
        var rest = text
        var section: String?
        // What "and 5" and "to §6" go on with.
        var isCountingLines = false
        while true {
            if let separator = rest.prefixMatch(of: #/(?:,? (?:and|to|or)(?: then)? |, | )/#) {
                rest = rest[separator.range.upperBound...]
            }
            if let match = rest.prefixMatch(of: #/§(\d+(?:\.\d+)*)/#) {
                section = String(match.output.1)
                isCountingLines = false
                places.append(.section(String(match.output.1)))
                rest = rest[match.range.upperBound...]
            } else if let match = rest.prefixMatch(of: #/lines? (\d+)/#) {
                isCountingLines = true
                places.append(.line(String(match.output.1), section: section))
                rest = rest[match.range.upperBound...]
            } else if isCountingLines, let match = rest.prefixMatch(of: #/(\d+)\b/#) {
                places.append(.line(String(match.output.1), section: section))
                rest = rest[match.range.upperBound...]
            } else if let match = rest.prefixMatch(of: #/"([^"]+)"/#) {
                places.append(.title(String(match.output.1)))
                rest = rest[match.range.upperBound...]
            } else if let match = rest.prefixMatch(of: #/`[^`]+`/#) {
                // A name within the section, such as `Charge`.
                rest = rest[match.range.upperBound...]
            } else if let match = rest.prefixMatch(of: #/promise (\d+)/#) {
                places.append(.promise(String(match.output.1)))
                rest = rest[match.range.upperBound...]
            } else {
                return
            }
        }
    }
}

/// A Markdown document, as far as citations and links need it.
struct MarkdownDocument {
    private let headings: [String]
    private let rows: Set<String>

    init(_ file: TextFile) {
        var headings: [String] = []
        var rows: Set<String> = []
        var section = ""
        for line in file.lines {
            if line.hasPrefix("#") {
                let heading = line.drop { $0 == "#" }.trimmed
                headings.append(String(heading))
                section = String(heading.prefix { $0.isNumber })
            } else if let row = line.prefixMatch(of: #/\| (\d+)(\.?)/#) {
                rows.insert(row.output.2.isEmpty ? "\(section)/\(row.output.1)" : "promise \(row.output.1)")
            }
        }
        self.headings = headings
        self.rows = rows
    }

    func has(_ place: Citation.Place) -> Bool {
        switch place {
        case .section(let number):
            // `## 12. Unknown` and `### 4.5 FIDO …`; §12.3 may also be the third row of the table in section 12.
            if headings.contains(where: { $0.hasPrefix(number + ". ") || $0.hasPrefix(number + " ") }) { return true }
            guard let dot = number.lastIndex(of: ".") else { return false }
            return rows.contains("\(number[..<dot])/\(number[number.index(after: dot)...])")
        case .line(let number, let section): return rows.contains("\(section ?? "")/\(number)")
        case .title(let title): return headings.contains(title)
        case .promise(let number): return rows.contains("promise \(number)")
        }
    }

    /// Whether a link's `#fragment` leads to a heading, by the rule of GitHub's pages.
    func hasAnchor(_ fragment: Substring) -> Bool {
        headings.contains { heading in
            heading.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
                .map { $0 == " " ? "-" : $0 } == Array(fragment)
        }
    }
}

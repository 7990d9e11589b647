import Testing

/// Documents and comments say which part of the system does what, in the field's terms.
@Suite struct ProseTests {
    /// Phrases that leave it open, and what to write in their place.
    private static let phrases: [(phrase: String, instead: String)] = [
        ("somebody", "the server, worker, app, client, user or operator that it is"), ("anybody", "any client"),
        ("nobody", "no client, no user, or the verb in the passive"), ("whoever", "the caller, the holder, a client"),
        ("looked at", "polled, read or checked"), ("looks at", "polls, reads or checks"), ("a look", "a poll"),
        ("Belvo's word", "Belvo's status"), ("last word", "last status"), ("told of", "named, or reported"),
        ("tells of", "names, or reports"), ("hears of", "gets, or is called with"), ("let go of", "released"),
        ("at one stroke", "at once"), ("the shop is told", "the shop gets an event"),
    ]

    @Test func `documents and comments use none of the phrases that name no subject`() {
        for page in Self.pages { report(Self.proseLines(of: page), in: page) }
        for file in Checkout.swiftFiles where file.isSource {
            report(
                file.lines.enumerated().filter { $0.element.contains("//") }.map { line, text in
                    (line, text.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).last ?? text)
                }, in: file)
        }
    }

    @Test(arguments: phrases.map(\.phrase))
    func `every phrase is found where it stands`(phrase: String) {
        #expect(Self.phrase(in: "/// Which \(phrase), and when.") == phrase)
        let capitalized = phrase.prefix(1).uppercased() + phrase.dropFirst()
        #expect(Self.phrase(in: "\(capitalized) (see below)") == phrase)
        #expect(Self.phrase(in: "A lookup of `\(phrase)` in order") == nil)
    }

    @Test func `code, and tables that programs write, are no prose`() {
        let text = "One.\n\n```sh\nnobody\n```\n\n    nobody\n| nobody |\nTwo."
        func lines(_ path: String) -> [Int] { Self.proseLines(of: TextFile(path: path, text: text)).map(\.line) }
        #expect(lines("docs/reliability.md") == [0, 1, 5, 8])
        #expect(lines("docs/apps.md") == [0, 1, 5, 7, 8])
    }

    private func report(_ lines: [(line: Int, text: Substring)], in file: TextFile) {
        for (line, text) in lines {
            guard let found = Self.phrase(in: text), let entry = Self.phrases.first(where: { $0.phrase == found })
            else {
                continue
            }
            Issue.record("\(file.path):\(line + 1): \"\(found)\": say \(entry.instead)")
        }
    }

    /// The first phrase of the table that stands in the text, in whatever case; not in a name in backticks.
    private static func phrase(in text: Substring) -> String? {
        let words = Self.words(
            text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined(separator: " `")[...])
        return searched.first { words.contains($0.words) }?.phrase
    }

    /// `" belvo s word "`: words between spaces, so that a word is not found in another.
    private static func words(_ text: Substring) -> String {
        " " + text.lowercased()[...].words.joined(separator: " ") + " "
    }

    private static let searched = phrases.map { (phrase: $0.phrase, words: words($0.phrase[...])) }

    private static let pages =
        (["README.md", "ARCHITECTURE.md"]
        + Checkout.names(in: "docs").filter { $0.hasSuffix(".md") }.map { "docs/\($0)" })
        .compactMap { Checkout.text(at: $0) }

    /// In these pages programs write tables, or tests make them from what the code says.
    private static let pagesWithTables: Set = ["docs/belvo-failures.md", "docs/reliability.md"]

    /// The lines of a page that are neither code nor output.
    private static func proseLines(of page: TextFile) -> [(line: Int, text: Substring)] {
        var isCode = false
        return page.lines.enumerated().compactMap { line, text in
            if text.hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            if isCode || text.hasPrefix("    ") { return nil }
            return text.hasPrefix("|") && pagesWithTables.contains(page.path) ? nil : (line, text)
        }
    }
}

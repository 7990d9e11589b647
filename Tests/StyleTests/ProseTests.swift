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
        for file in Checkout.files where Self.isHeldToPhrases(file) {
            let isPage = file.path.hasSuffix(".md")
            report(isPage ? Self.proseLines(of: file) : Self.comments(of: file), in: file)
        }
    }

    @Test func `the first sentence of a doc comment names its subject`() {
        for file in Checkout.swiftFiles where Self.isHeldToSubjects(file) {
            for (line, word) in Self.sentencesWithoutSubject(in: file) {
                Issue.record("\(file.path):\(line + 1) begins with \"\(word)\": say first what it is or does")
            }
        }
    }

    @Test(arguments: [
        ("/// What an app asks for.\nstruct A {}", true), ("    /// Whose turn it is.\n    let a = 1", true),
        ("/// Those that wait.\nlet a = 1", true), ("/// The request of an app.\nstruct A {}", false),
        ("/// The request.\n/// What follows explains it.\nstruct A {}", false), ("// What it is.\nlet a = 1", false),
        ("/// Whether it waits.\nlet a = true", false), ("/// How long it waits.\nlet a = 1", false),
        ("/// Office hours.\nlet a = 1", false),
    ])
    func `a sentence without a subject is found where it begins a doc comment`(text: String, isFound: Bool) {
        let found = Self.sentencesWithoutSubject(in: TextFile(path: "Sources/Sample.swift", text: text))
        #expect(found.isEmpty != isFound)
    }

    @Test(arguments: [
        ("a.swift", "let a = 1  // A note.", [" A note."]), ("a.swift", "/// A note.", ["/ A note."]),
        ("a.swift", #"let a = "https://a.example""#, []), ("a.sql", "SELECT 1 -- A note.", [" A note."]),
        ("a.py", "# A note.", [" A note."]), ("a.sh", "echo $#", []), ("a.json", "# A note.", []),
    ])
    func `a comment is what stands behind its mark`(path: String, line: String, comments: [String]) {
        #expect(Self.comments(of: TextFile(path: path, text: line)).map { String($0.text) } == comments)
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

    /// Sources, tests, benchmarks, fault tests, the deployment, and migrations that no database has yet: one that was
    /// applied keeps its text.
    private static func isHeldToPhrases(_ file: TextFile) -> Bool {
        let folders = [
            "Sources/", "Tests/", "bench/", "chaos/", "config/", "deploy/", "examples/shop/Backend/", "fuzz/",
        ]
        if file.path.hasPrefix("migrations/") { return file.path.dropFirst("migrations/".count).prefix(4) > "0026" }
        // Reports in bench are written by programs.
        if file.path.hasPrefix("bench/"), file.path.hasSuffix(".md") { return false }
        return folders.contains { file.path.hasPrefix($0) } && !unread.contains { file.path.hasPrefix($0) }
    }

    private static func isHeldToSubjects(_ file: TextFile) -> Bool {
        ["Sources/", "Tests/"].contains { file.path.hasPrefix($0) } && !unread.contains { file.path.hasPrefix($0) }
    }

    /// Not gone through yet, or full of examples of what is refused.
    private static let unread = [
        "Tests/SimulationTests/", "Tests/StyleTests/ProseTests.swift", "deploy/monitoring/",
        "Sources/MerchantWorkflows/Workflow/ListPolling.swift",
    ]

    /// The doc comments that begin with one of these words, with the number of their line counted from 0.
    private static func sentencesWithoutSubject(in file: TextFile) -> [(line: Int, word: Substring)] {
        file.lines.indices.compactMap { index in
            let line = file.lines[index].trimmed
            guard line.hasPrefix("/// "), index == 0 || !file.lines[index - 1].trimmed.hasPrefix("///") else {
                return nil
            }
            let word = line.dropFirst("/// ".count).prefix { $0.isLetter }
            return wordsWithoutSubject.contains(word) ? (index, word) : nil
        }
    }

    private static let wordsWithoutSubject: Set<Substring> = [
        "What", "Whatever", "Who", "Whoever", "Whose", "Whom", "Of", "Those",
    ]

    /// The comments of a file, line by line. A mark in a line of code has a blank before it: one in an address has
    /// none.
    private static func comments(of file: TextFile) -> [(line: Int, text: Substring)] {
        let kind = file.path.split(separator: ".").last.map(String.init) ?? ""
        guard let mark = commentMarks[kind] else { return [] }
        return file.lines.enumerated().compactMap { line, text in
            if text.trimmed.hasPrefix(mark) { return (line, text.trimmed.dropFirst(mark.count)) }
            return text.firstRange(of: " \(mark) ").map { (line, text[text.index(before: $0.upperBound)...]) }
        }
    }

    private static let commentMarks = [
        "swift": "//", "sql": "--", "lua": "--", "py": "#", "sh": "#", "yml": "#", "yaml": "#", "env": "#",
    ]

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

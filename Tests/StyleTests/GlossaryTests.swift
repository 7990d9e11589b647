import Testing

/// `docs/glossary.md` says what each word means and which type bears it; words that were given up stay away.
@Suite struct GlossaryTests {
    /// The rows of the glossary's tables: what stands in their cells.
    private static let rows: [[Substring]] = {
        let lines = Checkout.text(at: "docs/glossary.md")?.lines ?? []
        return lines.filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map(\.trimmed) }
            .filter { !["word", "not"].contains($0.first) }
    }()

    /// Rows of two cells say which name has taken the place of which.
    private static let givenUp = rows.filter { $0.count == 2 }.compactMap { $0.first.map(unquoted) }

    @Test(arguments: rows.filter { $0.count == 3 }.map { "\($0[0]): \(unquoted($0[2]))" })
    func `a word of the glossary is borne by a type that exists`(entry: String) throws {
        let type = try #require(entry.split(separator: " ").last)
        let names = type.split(separator: ".")
        let folder = ["Sources", "Tests"].map { "\($0)/\(names[0])/" }
        let module = Checkout.swiftFiles.filter { file in folder.contains { file.path.hasPrefix($0) } }
        #expect(!module.isEmpty, "there is no module \(names[0])")
        for name in names.dropFirst() {
            #expect(module.contains { GlossaryTests.types(in: $0).contains(name) }, "no type is called \(name)")
        }
    }

    @Test func `the glossary has a sentence for every word, and no word twice`() {
        let words = Self.rows.filter { $0.count == 3 }
        #expect(words.count > 50)
        #expect(Self.givenUp.count > 30)
        for row in words where row[1].isEmpty { Issue.record("\(row[0]) means nothing") }
        #expect(Set(words.map { $0[0] }).count == words.count)
    }

    @Test func `no type is called by a word that was given up`() {
        for file in Checkout.swiftFiles where !file.isOfStyleTests && !file.path.hasPrefix("bench/peers/") {
            for name in Self.types(in: file) where Self.isGivenUp(name) {
                Issue.record("\(file.path): \(name) is a word that docs/glossary.md has given up")
            }
        }
    }

    /// Words in lower case are given up altogether, as words of longer names too.
    @Test func `no name contains a word that was given up`() {
        // Most names occur in many files: each is judged once.
        var judged: [Substring: Bool] = [:]
        for file in Checkout.swiftFiles where !file.isOfStyleTests && !file.path.hasPrefix("bench/peers/") {
            for (line, name) in Self.names(in: file) {
                let isGivenUp = judged[name] ?? Self.containsGivenUp(name)
                judged[name] = isGivenUp
                if isGivenUp {
                    Issue.record("\(file.path):\(line + 1): \(name) has a word that docs/glossary.md has given up")
                }
            }
        }
    }

    @Test(arguments: [
        ("let bond = try await client.enroll()", true), ("func pay(_ bills: [Payment]) {", true),
        ("let otherBill = 1", true), ("case atBond(String)", true), ("print(\"paid \\(bill.id)\")", true),
        ("struct FirstTakingIn {", true), ("// a bond", false), ("let text = \"a bond\"", false),
        ("let billing = 1", false), ("func `a bond is read`() {}", false), ("let taking = 1", false),
    ])
    func `a word that was given up is found inside a name`(line: String, isFound: Bool) {
        let names = Self.names(in: TextFile(path: "Sources/Sample.swift", text: line))
        #expect(names.contains { Self.containsGivenUp($0.name) } == isFound)
    }

    @Test(arguments: [
        ("struct Bell {", true), ("public final class World: Sendable {", true), ("@Suite struct QuietTests {", true),
        ("enum SecondJudge {", false), ("struct Bellows {", false), ("struct LookUp {", false),
        ("let world = World()", false), ("/// struct World {", false),
    ])
    func `a word that was given up is found in the name of a type`(line: String, isFound: Bool) {
        let types = Self.types(in: TextFile(path: "Sources/Sample.swift", text: line))
        #expect(types.contains(where: Self.isGivenUp) == isFound)
    }

    /// The names of the types that a file declares.
    private static func types(in file: TextFile) -> [Substring] {
        file.lines.filter { !$0.isComment }.flatMap { line -> [Substring] in
            let words = line.words
            return zip(words, words.dropFirst()).filter { typeKeywords.contains($0.0) }.map(\.1)
        }
    }

    /// Whether the name, or what a suite is named after, was given up.
    private static func isGivenUp(_ name: Substring) -> Bool {
        let subject = name.hasSuffix("Tests") ? name.dropLast("Tests".count) : name
        return givenUp.contains(subject)
    }

    /// Every word of a file's code that may be a name, with its line counted from 0; sentences in backticks are none.
    private static func names(in file: TextFile) -> [(line: Int, name: Substring)] {
        SourceCode(file).lines.enumerated().flatMap { line, code in
            code.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset.isMultiple(of: 2) || !$0.element.contains(" ") }
                .flatMap { part in part.element.words.map { (line, $0) } }
        }
    }

    /// Whether a word in lower case that was given up, or its plural, is part of the name.
    private static func containsGivenUp(_ name: Substring) -> Bool {
        let words = joined(name)
        return givenUpAltogether.contains { words.contains("_\($0)_") || words.contains("_\($0)s_") }
    }

    /// `_taking_in_` of `TakingIn` and of `takingIn`.
    private static func joined(_ name: Substring) -> String {
        let words = name.split(separator: "_").flatMap(Rule.camelCaseWords)
        return "_\(words.joined(separator: "_").lowercased())_"
    }

    private static let givenUpAltogether = givenUp.filter { $0.first?.isLowercase == true }
        .map { joined($0).split(separator: "_").joined(separator: "_") }

    private static func unquoted(_ cell: Substring) -> Substring { cell.filter { $0 != "`" }[...] }

    private static let typeKeywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
}

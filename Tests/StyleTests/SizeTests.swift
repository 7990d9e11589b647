import Testing

/// ARCHITECTURE.md says how much there is to read of what other servers take from a framework.
@Suite struct SizeTests {
    /// A part may grow or shrink by a quarter until what is said about it has to be written anew.
    private static let tolerance = 4

    @Test func `the parts of the network are as long as ARCHITECTURE.md says`() throws {
        let parts = try #require(Checkout.text(at: "ARCHITECTURE.md")).lines.compactMap(part)
        #expect(parts.map(\.folder).sorted() == folders)
        for (folder, said) in parts {
            let count = lineCount(under: folder)
            let message: Comment = "\(folder) has \(count) lines, and \(said) are said"
            #expect(abs(count - said) <= said / Self.tolerance, message)
        }
    }

    @Test(arguments: [
        ("| `Sources/Transport` | 1,400 | why |", "Sources/Transport", 1400),
        ("| `Sources/HTTP/Client` | 90 | why |", "Sources/HTTP/Client", 90),
    ])
    func `a part is a folder and a number`(line: String, folder: String, count: Int) throws {
        let found = try #require(part(line[...]))
        #expect(found == (folder, count))
    }

    @Test(arguments: [
        "| `Transport` | events | C modules |", "| part | lines | why |", "|---|---|---|", "Sources/HTTP | 1 |",
    ])
    func `what has no number is no part`(line: String) {
        #expect(part(line[...]) == nil)
    }

    /// The folders that have to be spoken of.
    private var folders: [String] {
        (Checkout.names(in: "Sources/HTTP").map { "Sources/HTTP/" + $0 } + ["Sources/Transport"]).sorted()
    }

    private func part(_ line: Substring) -> (folder: String, said: Int)? {
        let cells = line.split(separator: "|").map(\.trimmed)
        guard cells.count >= 3, cells[0].hasPrefix("`Sources/"), cells[0].hasSuffix("`"),
            let said = Int(cells[1].filter { $0 != "," })
        else { return nil }
        return (String(cells[0].dropFirst().dropLast()), said)
    }

    private func lineCount(under folder: String) -> Int {
        Checkout.swiftFiles.filter { $0.path.hasPrefix(folder + "/") }.reduce(0) { $0 + $1.lines.count }
    }
}

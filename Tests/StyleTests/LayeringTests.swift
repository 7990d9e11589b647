import Testing

@Suite struct LayeringTests {
    @Test(arguments: [
        ("import HTTP", "HTTP"),
        ("    import HTTP  // why", "HTTP"),
        ("@testable import HTTP", "HTTP"),
        ("@preconcurrency public import struct HTTP.Request", "HTTP"),
        ("private import HTTP.Client", "HTTP"),
        ("import _StringProcessing", "_StringProcessing"),
        ("import func Glibc.close", "Glibc"),
    ])
    func `an import is read in every spelling`(line: String, module: String) {
        #expect(ImportedModule.name(in: line[...]) == module)
    }

    @Test(arguments: ["// import HTTP", "let word = \"import HTTP\"", "imports HTTP", "import", "", "important = 1"])
    func `what is no import is not read as one`(line: String) {
        #expect(ImportedModule.name(in: line[...]) == nil)
    }

    @Test func `every folder of Sources is a layer`() {
        let folders = Checkout.names(in: "Sources").map { "Sources/" + $0 }
        #expect(!folders.isEmpty)
        #expect(Set(folders).subtracting(Layer.all.map(\.folder)) == [])
    }

    @Test(arguments: Layer.all.map(\.folder))
    func `a layer imports only what lies below it`(folder: String) throws {
        let layer = try #require(Layer.of(folder + "/"))
        for use in imports(under: folder) where !layer.own.union(layer.others).contains(use.module) {
            Issue.record("\(use.place): \(folder) may not import \(use.module)")
        }
    }

    @Test(arguments: InnerLayer.all.map(\.folder))
    func `a folder with a narrower purpose imports less`(folder: String) throws {
        let inner = try #require(InnerLayer.all.first { $0.folder == folder })
        for use in imports(under: folder) where inner.forbidden.contains(use.module) {
            Issue.record("\(use.place): import \(use.module), but \(inner.reason)")
        }
    }

    /// Rows stand lowest first, so a layer that imports one below it in the table would point up.
    @Test func `the table itself has arrows that point down only`() {
        var below: Set<String> = []
        for layer in Layer.all {
            #expect(layer.own.subtracting(below) == [], "\(layer.folder)")
            below.insert(layer.module)
        }
    }

    @Test func `SQL is written in the store and nowhere else`() {
        for file in Checkout.swiftFiles
        where file.path.hasPrefix("Sources/Merchant") || file.path.hasPrefix("Sources/BelvoGate") {
            if file.path.hasPrefix("Sources/MerchantStore/Store/") { continue }
            for (index, line) in file.lines.enumerated() where !line.isComment && holdsSQL(line) {
                Issue.record("\(file.path):\(index + 1): \(line.trimmed)")
            }
        }
    }

    @Test(arguments: [
        ("        UPDATE payments SET leased_until = now()", true),
        ("\"SELECT id FROM payments\"", true),
        ("INSERT INTO payments (id)", true),
        ("let text = \"Select a bank from the list\"", false),
        ("case update, select", false),
    ])
    func `SQL is told from prose by its capitals`(line: String, isSQL: Bool) {
        #expect(holdsSQL(line[...]) == isSQL)
    }

    private func holdsSQL(_ line: Substring) -> Bool {
        let words = line.words
        return zip(words, words.dropFirst()).contains { first, second in
            ["INSERT INTO", "DELETE FROM", "FOR UPDATE", "ORDER BY", "LEFT JOIN"].contains("\(first) \(second)")
        } || words.contains("SELECT") || words.contains("UPDATE") && words.contains("SET")
    }

    private func imports(under folder: String) -> [(module: String, place: String)] {
        Checkout.swiftFiles.filter { $0.path.hasPrefix(folder + "/") }.flatMap { file in
            file.lines.enumerated().compactMap { index, line in
                ImportedModule.name(in: line).map { ($0, "\(file.path):\(index + 1)") }
            }
        }
    }
}

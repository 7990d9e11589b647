import Testing

@Suite struct MigrationTests {
    private let names = Checkout.names(in: "migrations").filter { $0.hasSuffix(".sql") }

    @Test(arguments: [
        "1_a.sql", "0001.sql", "0001_.sql", "0001_Create.sql", "0001-create.sql", "00012_a.sql", "0001_a__b.sql",
    ])
    func `a name without number and words is refused`(name: String) {
        #expect(!isWellNamed(name))
    }

    @Test func `every migration is named by its number and by what it does`() {
        #expect(!names.isEmpty)
        #expect(names.filter { !isWellNamed($0) } == [])
        #expect(isWellNamed("0007_remember_outcome_of_intents.sql"))
    }

    @Test func `migrations are numbered from 1 on without a gap`() {
        #expect(names.compactMap { Int($0.prefix(4)) } == Array(1...max(1, names.count)))
    }

    @Test func `every migration begins by saying why`() throws {
        for name in names {
            let first = try #require(Checkout.text(at: "migrations/" + name)?.lines.first)
            #expect(first.hasPrefix("-- ") && first.count > 20, "\(name): \(first)")
        }
    }

    /// `NNNN_words_in_small_letters.sql`.
    private func isWellNamed(_ name: String) -> Bool {
        guard name.hasSuffix(".sql") else { return false }
        let parts = name.dropLast(4).split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count > 1, parts[0].count == 4, parts[0].allSatisfy({ "0"..."9" ~= $0 }) else { return false }
        return parts.dropFirst().allSatisfy { word in
            !word.isEmpty && word.allSatisfy { "a"..."z" ~= $0 || "0"..."9" ~= $0 }
        }
    }
}

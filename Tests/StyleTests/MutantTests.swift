import Testing

/// `./dev simulate-mutants` takes guards out of the sources by patches. No other test would notice that one has become
/// out of date, and a guard that is not taken out proves nothing.
@Suite struct MutantTests {
    @Test(arguments: Checkout.names(in: "scripts/mutants"))
    func `a patch that takes out a guard fits the sources`(name: String) throws {
        let patch = try #require(Checkout.text(at: "scripts/mutants/\(name)"))
        let target = try #require(patch.lines.first { $0.hasPrefix("--- a/") }).dropFirst("--- a/".count)
        let source = try #require(Checkout.text(at: String(target)), "there is no \(target)")
        let hunks = patch.lines.split { $0.hasPrefix("@@ ") }.dropFirst()
        #expect(!hunks.isEmpty)
        for hunk in hunks {
            let old = hunk.filter { $0.hasPrefix(" ") || $0.hasPrefix("-") || $0.isEmpty }.map { $0.dropFirst() }
            #expect(source.lines.contains(old), "these lines are not in \(target):\n\(old.joined(separator: "\n"))")
        }
    }
}

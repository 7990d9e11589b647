import FoundationEssentials
import Testing

/// `docs/reliability.md` says by what each promise is kept and where that is shown; names that are gone would prove
/// nothing.
@Suite struct PromiseTests {
    private static let names: [String] = {
        let lines = Checkout.text(at: "docs/reliability.md")?.lines.filter { $0.hasPrefix("| ") } ?? []
        return lines.flatMap { line in
            line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
    }()

    @Test func `every file that is said to keep or to show a promise is there`() {
        let paths = Self.names.filter { $0.contains("/") && !$0.hasPrefix("./") }
        #expect(paths.count > 20)
        for path in paths where !FileManager.default.fileExists(atPath: Checkout.root + "/" + path) {
            Issue.record("docs/reliability.md names \(path), which is not there")
        }
    }

    @Test func `every constraint and every guard that is said to keep a promise is there`() {
        let guards = Self.names.filter { $0.contains("_") && $0.allSatisfy { $0.isLowercase || $0 == "_" } }
        #expect(guards.count > 30)
        let places = Checkout.files.filter {
            $0.path.hasPrefix("migrations/") || $0.path.hasPrefix("scripts/simulate-mutants")
        }
        let patches = Checkout.names(in: "scripts/mutants")
        for name in guards where !patches.contains(name + ".patch") {
            let isThere = places.contains { file in file.lines.contains { $0.contains(name) } }
            #expect(isThere, "docs/reliability.md names \(name), which is neither in a migration nor taken out")
        }
    }
}

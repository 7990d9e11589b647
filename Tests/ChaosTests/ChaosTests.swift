import FoundationEssentials
import TestSupport
import Testing

@testable import Chaos

/// What `./dev chaos` does at length, in short: the built programs, a PostgreSQL of their own, and faults in earnest.
@Suite(.serialized) struct ChaosTests {
    /// The directory of the programs, beside these tests.
    private static let programs: String? = {
        guard let tests = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let slash = tests.lastIndex(of: "/")
        else { return nil }
        return String(tests[..<slash])
    }()

    private func withTools(_ body: @escaping @Sendable (Tools) async throws -> [Verdict]) async throws {
        let programs = try #require(Self.programs)
        let scratch = "/tmp/chaos-test.\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch)
        // Nothing is lost with a directory left behind.
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        var tools = Tools(programs: programs, scratch: scratch)
        tools.purchases = 8
        tools.users = 4
        tools.load = .seconds(3)
        tools.patience = .seconds(6)
        // What is signed and never arrives at Belvo is in doubt soon.
        tools.settings = ["POLL_DEADLINE_MS": "3000"]
        let chosen = tools
        let verdicts = try await withLoop { _ in try await body(chosen) }
        #expect(!verdicts.isEmpty)
        for verdict in verdicts {
            #expect(verdict.isGood, "\(verdict.row)\n\(verdict.findings.joined(separator: "\n"))")
            #expect(verdict.paid > 0)
        }
    }

    @Test func `a server killed around Belvo's replies and its own answers makes each payment once`() async throws {
        try await withTools { tools in
            var scenario = KillAtEveryStep(tools: tools)
            // Where Belvo has been asked: what was never sent is given up after a minute only.
            scenario.isAimedAt = { $0.kind == .answer || $0.kind == .reply && $0.label.hasPrefix("POST") }
            return try await scenario.play()
        }
    }

    @Test func `when the word that a write is committed is lost, nothing is done twice and nothing is lost`()
        async throws
    {
        try await withTools { tools in
            var scenario = LostCommits(tools: tools)
            scenario.rate = 4
            scenario.label = "UPDATE payments"
            return try await scenario.play()
        }
    }

    @Test func `a hundred webhooks or redirects at once do what one does`() async throws {
        try await withTools { try await Storms(tools: $0).play() }
    }
}

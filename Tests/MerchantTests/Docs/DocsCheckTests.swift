import FoundationEssentials
import TestSupport
import Testing

/// `./dev docs-check` without the examples, which `GuideTests` plays.
@Suite(.timeLimit(.minutes(5))) struct DocsCheckTests {
    @Test(.enabled(if: hasPython))
    func `links lead somewhere, and the commands, options and queries of the documents exist`() async throws {
        let run = try await check()
        #expect(run.code == 0, "\(run)")
        #expect(run.output.contains("all as they should be."))
    }

    @Test(.enabled(if: hasPython)) func `what leads nowhere and what does not exist is told with its line`()
        async throws
    {
        let path = "/tmp/wrong-\(UInt32.random(in: 0 ... .max)).md"
        let wrong = """
            [nothing](nothing.md) and [no heading](\(Guide.root)/docs/metrics.md#nothing), `./dev nothing`, and
            `merchant nothing`, `merchant doctor --nothing`, `SELECT * FROM ops.nothing`, `docs/nothing.md`
            """
        try Data(wrong.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let run = try await check(["DOCS_MORE": path])
        #expect(run.code == 1)
        let lines = run.output.split(separator: "\n")
        for (line, fault) in [
            (1, "the link nothing.md leads nowhere"),
            (1, "the link \(Guide.root)/docs/metrics.md#nothing leads to no heading"),
            (1, "there is no ./dev nothing"), (2, "merchant nothing: there is no such command"),
            (2, "merchant doctor --nothing: doctor has no --nothing"), (2, "SELECT * FROM ops.nothing: "),
            (2, "docs/nothing.md is not there"),
        ] {
            #expect(
                lines.contains { $0.contains("/wrong-") && $0.contains(".md:\(line): \(fault)") }, "\(fault): \(run)")
        }
    }

    private func check(_ more: [String: String] = [:]) async throws -> ProgramRun {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let programs = String(tests[..<(try #require(tests.lastIndex(of: "/")))])
        return try await onThread {
            var environment = ProcessInfo.processInfo.environment.merging(more) { $1 }
            environment["DOCS_PROGRAMS"] = programs
            return try ProgramRun(
                ["/usr/bin/env", "bash", Guide.root + "/scripts/docs-check.sh", "--skip-build", "--static"],
                environment: environment)
        }
    }

    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")
}

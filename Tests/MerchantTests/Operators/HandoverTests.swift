import FoundationEssentials
import Glibc
import HTTP
import JSON
import TestSupport
import Testing
import Transport

/// The program as a process among others: how it is replaced while it serves.
@Suite(.timeLimit(.minutes(5))) struct HandoverTests {
    @Test func `no request is lost while the server is replaced ten times under load`() async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            let server = try RunningProgram([program, "serve"], environment: harness.environment)
            var current = try await Self.generation(1, of: server, on: harness.loop)
            let load = Load(port: current.port)
            async let answered = load.run(on: harness.loop)
            for replacement in 2...11 {
                let before = load.count
                kill(current.process, SIGUSR2)
                current = try await Self.generation(replacement, of: server, on: harness.loop)
                // Both serve now, and then only the new one: there was load on each.
                while load.count < before + 20 { try await harness.loop.sleep(for: .milliseconds(5)) }
            }
            load.stop()
            let (answers, failures) = await answered
            #expect(failures == [])
            #expect(answers > 200)
            let first = server
            #expect(await (try onThread { first.waitForEnd() }) == 0)
            kill(current.process, SIGTERM)
            try await Self.waitForEnd(of: current.process, on: harness.loop)
        }
    }

    @Test func `a program that cannot start takes nothing over, and the old one serves on`() async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            let settings = try SettingsOnDisk(harness.environment)
            let server = try RunningProgram([program, "serve", "--config", settings.path], environment: [:])
            let current = try await Self.generation(1, of: server, on: harness.loop)
            try settings.replace(with: ["DATABASE_URL": "nowhere"])
            kill(current.process, SIGUSR2)
            while !server.lines.contains(where: { $0.contains("server.handover_failed") }) {
                try await harness.loop.sleep(for: .milliseconds(20))
            }
            let client = HTTP.Client(origin: HTTP.URL("http://127.0.0.1:\(current.port)/")!.origin)
            #expect(try await client.send(Request(.get, "/livez"), deadline: .seconds(20)).status == .ok)
            await client.closeIdle(on: harness.loop)
            kill(current.process, SIGTERM)
            #expect(await (try onThread { server.waitForEnd() }) == 0)
        }
    }

    struct Generation {
        let process: pid_t
        let port: UInt16
    }

    /// Waits until the server was started for the so-manieth time, as its log tells.
    static func generation(
        _ count: Int, of server: RunningProgram, on loop: EventLoop
    ) async throws -> Generation {
        for _ in 0..<3000 {
            let started = server.lines.filter { $0.contains("server.started") }
            if started.count >= count {
                let line = try JSONDocument(parsing: Array(started[count - 1].utf8)).root
                return Generation(
                    process: try #require(line["pid"]?.string.flatMap { pid_t($0) }),
                    port: try #require(
                        line["listen"]?.string?.split(separator: ":").last.flatMap { UInt16($0) }))
            }
            try await loop.sleep(for: .milliseconds(20))
        }
        let log = server.lines.suffix(5).joined(separator: "\n")
        Issue.record("the server was not started \(count) times within a minute:\n\(log)")
        throw CancellationError()
    }

    /// Another process's child cannot be waited for, only asked after.
    private static func waitForEnd(of process: pid_t, on loop: EventLoop) async throws {
        while kill(process, 0) == 0 { try await loop.sleep(for: .milliseconds(20)) }
    }
}

/// A settings file that is gone with its owner.
private final class SettingsOnDisk: Sendable {
    let path: String
    private let settings: [String: String]

    init(_ settings: [String: String]) throws {
        path = "/tmp/handover-\(UUID().uuidString).env"
        self.settings = settings
        try replace(with: [:])
    }

    deinit { unlink(path) }

    func replace(with changes: [String: String]) throws {
        let text = settings.merging(changes) { $1 }.map { "\($0)=\($1)\n" }.joined()
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
    }
}

import Glibc
import HTTP
import TestSupport
import Testing
import Transport

/// The program as a process among others: how it ends while it serves.
@Suite(.timeLimit(.minutes(5))) struct TerminationTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `no request that got to the server is lost when it is asked to end under load`(_ signal: Int32) async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            let server = try RunningProgram([program, "serve"], environment: harness.environment)
            let port = try await HandoverTests.generation(1, of: server, on: harness.loop).port
            let load = Load(port: port)
            let requests = try await Self.requests(of: "ana", on: harness)
            async let answered = load.run(requests, on: harness.loop)
            while load.count < 100 { try await harness.loop.sleep(for: .milliseconds(5)) }
            load.expectEnd()
            kill(server.process, signal)
            let (answers, failures) = await answered
            #expect(failures == [])
            #expect(answers >= 100)
            #expect(await (try onThread { server.waitForEnd() }) == 0)
        }
    }

    @Test func `a request that is under way holds the end up, and a second signal does not wait for it`() async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            let server = try RunningProgram([program, "serve"], environment: harness.environment)
            let port = try await HandoverTests.generation(1, of: server, on: harness.loop).port
            // Half a request is under way for as long as its deadline lets it be, ten seconds.
            let client = try RawConnection(port: port)
            try client.send("GET /livez HTTP/1.1\r\nHost: a\r\n")
            // A round trip: by then the server has read it.
            let other = try RawConnection(port: port)
            try other.send("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            _ = try await onThread { try other.receiveToEnd() }
            kill(server.process, SIGTERM)
            while !server.lines.contains(where: { $0.contains("server.draining") }) {
                try await harness.loop.sleep(for: .milliseconds(20))
            }
            let start = Monotonic.now()
            kill(server.process, SIGTERM)
            #expect(await (try onThread { server.waitForEnd() }) == 1)
            #expect(Monotonic.now() - start < .seconds(5))
            #expect(!server.lines.contains { $0.contains("server.stopped") })
        }
    }

    @Test func `a server that waits for its database ends when it is asked to`() async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            var environment = harness.environment
            environment["DATABASE_URL"] = "postgresql:///none?host=/nowhere"
            let server = try RunningProgram([program, "serve"], environment: environment)
            while !server.lines.contains(where: { $0.contains("database.unavailable") }) {
                try await harness.loop.sleep(for: .milliseconds(20))
            }
            kill(server.process, SIGTERM)
            #expect(await (try onThread { server.waitForEnd() }) == 0)
        }
    }

    /// The requests of apps: answered from memory, and from the database.
    private static func requests(of user: String, on harness: TestHarness) async throws -> [Request] {
        let token = try #require(try await harness.app(of: user).token)
        let headers: Headers = ["authorization": "Bearer \(token)"]
        return [
            Request(.get, "/livez"), Request(.get, "/v1/institutions", headers: headers),
            Request(.get, "/v1/enrollments", headers: headers),
        ]
    }
}

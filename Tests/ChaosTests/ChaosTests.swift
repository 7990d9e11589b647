import TestSupport
import Testing

@testable import Chaos

/// A short version of `./dev chaos`: the built programs, a PostgreSQL of their own, and real faults.
@Suite(.serialized) struct ChaosTests {
    private func play(
        settings: [String: String] = [:], _ scenario: @escaping @Sendable (Tools) async throws -> [Report]
    ) async throws {
        let reports = try await ShortTools.with(settings: settings, scenario)
        #expect(!reports.isEmpty)
        for report in reports {
            #expect(report.isGood, "\(report.row)\n\(report.findings.joined(separator: "\n"))")
            #expect(report.paid > 0)
        }
    }

    @Test func `a server killed around Belvo's replies and its own answers makes each payment once`() async throws {
        try await play { tools in
            var scenario = KillAtEveryStep(tools: tools)
            // Where Belvo has been asked, and where the app gets the answer.
            scenario.isAimedAt = {
                $0.label.hasPrefix("POST")
                    && ($0.kind == .answer && $0.label.hasPrefix("POST /v1") || $0.kind == .reply)
            }
            return try await scenario.play()
        }
    }

    @Test func `when PostgreSQL is stopped as if the machine had failed, nothing that was answered is lost`()
        async throws
    {
        try await play { tools in
            var scenario = DatabaseRestarts(tools: tools)
            scenario.respite = 200...600
            return try await scenario.play()
        }
    }

    @Test func `when the word that a write is committed is lost, nothing is done twice and nothing is lost`()
        async throws
    {
        try await play { tools in
            var scenario = LostCommits(tools: tools)
            scenario.rate = 4
            scenario.label = "UPDATE payments"
            return try await scenario.play()
        }
    }

    /// Only where a small file system can be mounted to be filled, which takes root.
    @Test(.enabled("a small disk is mounted, which takes root", Machine.canMount))
    func `when the disk is full nothing is done twice and nothing is lost, and it goes on once there is room`()
        async throws
    {
        try await play { tools in
            var scenario = FullDisk(tools: tools)
            scenario.times = 1
            return try await scenario.play()
        }
    }

    @Test func `while somebody holds a lock on the payments apps wait or hear no, and nothing is lost`() async throws {
        try await play { tools in
            var scenario = HeldLock(tools: tools)
            // Longer than a statement waits for a lock.
            scenario.span = .seconds(4)
            return try await scenario.play()
        }
    }

    @Test func `when the primary dies the server finds the standby, with everything that was answered`() async throws {
        try await play { tools in
            var scenario = Failover(tools: tools)
            // Longer than a statement may take: what was not confirmed by then must not count as done.
            scenario.lag = .milliseconds(4_500)
            scenario.notice = .milliseconds(200)
            return [try await scenario.playSynchronous()]
        }
    }

    @Test func `a primary that says nothing any more is left for the standby`() async throws {
        try await play { tools in
            var tools = tools
            // It takes some seconds to give up what was asked of the silent one; no caller is stuck before that.
            tools.timeouts = .seconds(5)
            var scenario = Failover(tools: tools)
            scenario.lag = .zero
            scenario.notice = .milliseconds(200)
            return try await scenario.playSilence()
        }
    }

    @Test(.enabled("three instances need HAProxy", Machine.hasBalancer))
    func `of three instances one may be killed and one sleep past its lease: looks stay apart, no late write wins`()
        async throws
    {
        try await play { tools in
            var scenario = ThreeInstances(tools: tools)
            scenario.interval = .seconds(1)
            scenario.callDeadline = .seconds(1)
            scenario.pause = .seconds(1)
            scenario.waiting = 8
            // Where tests run, others may need the processors as well.
            scenario.tolerance = .seconds(8)
            return try await scenario.play()
        }
    }

    @Test func `a hundred webhooks or redirects at once do what one does`() async throws {
        try await play { tools in
            var tools = tools
            tools.users = 2
            return try await Storms(tools: tools).play()
        }
    }
}

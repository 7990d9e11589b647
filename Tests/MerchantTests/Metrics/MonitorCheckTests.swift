import FoundationEssentials
import TestSupport
import Testing

/// The short version of `./dev monitor-check`, where Prometheus is installed.
@Suite(.timeLimit(.minutes(5))) struct MonitorCheckTests {
    @Test(.enabled(if: isInstalled))
    func `a real Prometheus: alerts fire by their fault and stop, and every query has an answer`() async throws {
        let programs = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let directory = String(programs[..<(try #require(programs.lastIndex(of: "/")))])
        let run = try await onThread {
            try ProgramRun(
                ["/usr/bin/env", "bash", Guide.root + "/scripts/monitor-check.sh", "--skip-build", "--short"],
                environment: ProcessInfo.processInfo.environment.merging(["MONITOR_PROGRAMS": directory]) { $1 })
        }
        #expect(run.code == 0, "\(run)")
        #expect(run.output.contains("queries of the dashboard have an answer."))
        #expect(run.output.contains("3 alerts fire by their fault"))
    }

    private static let isInstalled = ["prometheus", "prometheus-alertmanager", "prlimit", "bash"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
}

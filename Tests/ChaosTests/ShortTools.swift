import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Chaos

/// The settings of the short versions: the programs beside these tests, few users, little load.
enum ShortTools {
    /// Gives the body tools with a directory of their own, on an event loop, and removes the directory afterwards.
    static func with<Value: Sendable>(
        settings: [String: String] = [:], _ body: @escaping @Sendable (Tools) async throws -> Value
    ) async throws -> Value {
        let programs = try #require(programs)
        // Below what `./dev test` clears when the tests were ended before they could do so themselves.
        let parent = getenv("TEST_CHAOS_SCRATCH").map { String(cString: $0) } ?? "/tmp"
        let scratch = "\(parent)/chaos-test.\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch)
        // Nothing is lost with a directory left behind.
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        var tools = Tools(programs: programs, scratch: scratch)
        tools.purchases = 8
        tools.users = 4
        tools.load = .seconds(1)
        tools.timeouts = .seconds(2)
        tools.waitsForDisk = false
        tools.settings = settings
        let chosen = tools
        return try await withLoop { _ in try await body(chosen) }
    }

    /// The directory of the programs.
    private static let programs: String? = {
        guard let tests = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let slash = tests.lastIndex(of: "/")
        else { return nil }
        return String(tests[..<slash])
    }()
}

/// The permissions that not every machine gives a test.
enum Machine {
    /// Whether a file system can be mounted: not in every container, even by root.
    static func canMount() async -> Bool {
        guard geteuid() == 0 else { return false }
        // In a name space of its own, which takes the file system along when it ends.
        let command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        return await ended(command)
    }

    /// Whether HAProxy is installed.
    static func hasBalancer() async -> Bool { await ended(["haproxy", "-v"]) }

    private static func ended(_ command: [String]) async -> Bool {
        // A program that is not there cannot be started.
        (try? await onThread { try Child(command[0], command, log: "/dev/null").waitForEnd() }) == 0
    }
}

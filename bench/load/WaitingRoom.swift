import ArgumentParser
import HTTP
import SoftwareAuthenticator
import Transport

/// Apps that wait, and the instance through which what they wait for is changed.
///
/// Everything here runs on one loop.
final class WaitingRoom {
    private let apps: [WaitingApp]
    /// Another connection to where the apps wait.
    private let here: Client
    private let other: Client
    private let loop: EventLoop
    private var waits: [Task<Monotonic, any Error>] = []
    private var changed = 0

    /// So many at a time: the server is to be measured while it waits, not while it is stormed.
    private static let width = 32

    private init(_ apps: [WaitingApp], at here: Client, other: Client, on loop: EventLoop) {
        self.apps = apps
        self.here = here
        self.other = other
        self.loop = loop
    }

    /// Starts an enrollment for each app, all users at once, each user's one after the other.
    static func open(
        _ count: Int, tokens: [String], at origin: URL.Origin, changing other: URL.Origin, on loop: EventLoop
    ) async throws -> WaitingRoom {
        let client = Client(origin: origin)
        let shares = tokens.indices.map { number in
            let share = count / tokens.count + (number < count % tokens.count ? 1 : 0)
            return loop.task {
                try await WaitingApp.start(
                    share, of: number, token: tokens[number], at: origin, through: client)
            }
        }
        var apps: [WaitingApp] = []
        for share in shares { apps += try await share.value }
        return WaitingRoom(apps, at: client, other: Client(origin: other), on: loop)
    }

    /// Does what the order says and gives the line that answers it.
    func obey(_ order: String) async throws -> String {
        let words = order.split(separator: " ")
        switch (words.first, words.count) {
        case ("open", 1):
            try await inWaves { try await $0.read() }
            return "opened"
        case ("wait", 1):
            waits = []
            for start in stride(from: 0, to: apps.count, by: Self.width) {
                for app in apps[start..<min(start + Self.width, apps.count)] {
                    waits.append(loop.task { try await app.waitForChange() })
                }
                // Read behind them, so that by then the server has read for all of these, and holds them.
                try await apps[start].read(through: here)
            }
            return "waiting"
        case ("change", 2):
            guard let count = Int(words[1]), changed + count <= waits.count else { fallthrough }
            return try await change(count)
        default: throw ValidationError("There is no order \"\(order)\", or not now.")
        }
    }

    private func inWaves(_ body: @escaping @Sendable (WaitingApp) async throws -> Void) async throws {
        for start in stride(from: 0, to: apps.count, by: Self.width) {
            let wave = apps[start..<min(start + Self.width, apps.count)].map { app in
                loop.task { try await body(app) }
            }
            for task in wave { try await task.value }
        }
    }

    private func change(_ count: Int) async throws -> String {
        var durations: [Int64] = []
        for index in changed..<changed + count {
            let (app, other) = (apps[index], other)
            let start = Monotonic.now()
            let change = loop.task { try await app.giveUp(through: other) }
            let told = try await waits[index].value
            durations.append((told - start).wholeNanoseconds / 1_000)
            try await change.value
            // The machine comes to rest: what this change left to do is not part of the next one's time.
            try await loop.sleep(for: .milliseconds(20))
        }
        changed += count
        durations.sort()
        return "\(count) \(durations.percentile(50)) \(durations.percentile(99)) \(durations.last ?? 0)"
    }
}

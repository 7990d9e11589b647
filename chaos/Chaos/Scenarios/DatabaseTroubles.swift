import Postgres
import Transport

/// PostgreSQL is stopped as if the machine had failed, and started, again and again under load.
struct DatabaseRestarts: Sendable {
    let tools: Tools
    /// How long it runs before it is stopped, in milliseconds.
    var respite = 1_000...3_000

    func play() async throws -> [Report] {
        var plan = Site.Plan()
        plan.users = tools.users
        return try await Site.open("restart", with: tools, plan) { site in
            let restarts = LockedBox(0)
            let gap = try await Crowd(site).buying {
                let end = Monotonic.now() + tools.load
                while restarts.value < 2 || Monotonic.now() < end {
                    try await site.trade(for: .milliseconds(Int.random(in: respite)))
                    await site.cluster.stopImmediately()
                    try await site.cluster.start()
                    restarts.update { $0 += 1 }
                }
            }
            var report = Report(
                "PostgreSQL restarted under load", deeds: "\(restarts.value) times `-m immediate` and started again")
            report.gap = gap
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }
}

/// Writes are committed, and the word of it is lost together with the connection.
public struct LostCommits: Sendable {
    let tools: Tools
    /// One of so many is lost.
    public var rate = 7
    /// Of which writes; of all of them without.
    public var label: String?

    public init(tools: Tools) {
        self.tools = tools
    }

    public func play() async throws -> [Report] {
        let thief = CommitThief(rate: rate, label: label)
        var plan = Site.Plan()
        plan.users = tools.users
        plan.warden = thief
        return try await Site.open("commit", with: tools, plan) { site in
            let gap = try await Crowd(site).buying {
                thief.isAtWork.value = true
                defer { thief.isAtWork.value = false }
                try await Loop.sleep(tools.load)
            }
            var report = Report(
                "answers to commits lost",
                deeds:
                    "\(thief.taken.value) answers of \(thief.seen.value) swallowed after the commit, connection reset")
            report.gap = gap
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }
}

/// Swallows one of so many answers to writes, and resets the connection.
final class CommitThief: Warden {
    let isAtWork = LockedBox(false)
    let seen = LockedBox(0)
    let taken = LockedBox(0)
    private let rate: Int
    private let label: String?

    init(rate: Int, label: String?) {
        self.rate = rate
        self.label = label
    }

    func before(_ crossing: Crossing) -> RelayDecision {
        guard crossing.kind == .commit, isAtWork.value, crossing.label == label ?? crossing.label else { return .pass }
        seen.update { $0 += 1 }
        guard Int.random(in: 0..<rate) == 0 else { return .pass }
        taken.update { $0 += 1 }
        return .cut
    }

    func after(_ crossing: Crossing) {}
}

/// The disk with PostgreSQL's data is full, and has room again.
struct FullDisk: Sendable {
    let tools: Tools
    /// How often it is filled.
    var times = 2

    func play() async throws -> [Report] {
        let disk = "\(tools.scratch)/small-disk"
        try await runTool(["mkdir", "-p", disk], log: "\(tools.scratch)/mkdir.log")
        try await runTool(
            ["mount", "-t", "tmpfs", "-o", "size=160m,mode=0777", "tmpfs", disk], log: "\(tools.scratch)/mount.log")
        let result: Result<[Report], any Error>
        do { result = .success(try await play(on: disk)) } catch { result = .failure(error) }
        // What the scenario found matters more than a file system left behind.
        _ = try? await runTool(["umount", "--lazy", disk], log: "\(tools.scratch)/umount.log")
        return try result.get()
    }

    private func play(on disk: String) async throws -> [Report] {
        var plan = Site.Plan()
        plan.users = tools.users
        plan.dataDirectory = disk
        // Small files of the log, so that a full disk soon means that it cannot go on either.
        plan.initOptions = ["--wal-segsize=1"]
        plan.databaseSettings = ["min_wal_size = '4MB'", "max_wal_size = '16MB'", "checkpoint_timeout = '30s'"]
        return try await Site.open("disk", with: tools, plan) { site in
            let deaths = LockedBox(0)
            let fills = LockedBox(0)
            let gap = try await Crowd(site).buying {
                for _ in 0..<times {
                    try await site.trade(for: tools.load / 10)
                    let before = Self.complaints(site)
                    // dd ends with 1 when the disk is full: that is what it is for.
                    try await runTool(
                        ["dd", "if=/dev/zero", "of=\(disk)/filling", "bs=64k"], log: "\(site.directory)/dd.log",
                        expecting: [1])
                    fills.update { $0 += 1 }
                    try await Loop.sleep(tools.load / 4)
                    // A cluster has some room of its own that it uses up first.
                    _ = await eventually(within: .seconds(20), every: .milliseconds(20)) {
                        Self.complaints(site) > before + 4 || !site.cluster.isRunning
                    }
                    try await runTool(["rm", "-f", "\(disk)/filling"], log: "\(site.directory)/rm.log")
                    guard !site.cluster.isRunning else { continue }
                    deaths.update { $0 += 1 }
                    try await site.cluster.start()
                }
                try await site.trade(for: tools.load / 10)
            }
            let refused = Self.complaints(site)
            var report = Report(
                "disk full",
                deeds:
                    "\(fills.value) times for \(Report.tenths(tools.load / 4)) s: \(refused) complaints, PostgreSQL "
                    + "ended itself \(deaths.value) times")
            report.gap = gap
            if refused == 0 { report.wrong.append("the disk was never full for PostgreSQL") }
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }

    /// How often PostgreSQL has found no room.
    private static func complaints(_ site: Site) -> Int {
        TextFile.read(site.cluster.log).split(separator: "\n").count { $0.contains("No space left on device") }
    }
}

/// Another session holds a lock on the payments.
struct HeldLock: Sendable {
    let tools: Tools
    var span = Duration.seconds(10)

    func play() async throws -> [Report] {
        var plan = Site.Plan()
        plan.users = tools.users
        return try await Site.open("lock", with: tools, plan) { site in
            let gap = try await Crowd(site).buying {
                try await site.trade(for: tools.load / 5)
                try await site.database.transaction { transaction in
                    try await transaction.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
                    try await transaction.execute("LOCK TABLE payments IN ACCESS EXCLUSIVE MODE")
                    try await Loop.sleep(span)
                }
                try await site.trade(for: tools.load / 5)
            }
            var report = Report(
                "a lock on `payments`", deeds: "`ACCESS EXCLUSIVE` for \(Report.tenths(span)) s under load")
            report.gap = gap
            if gap < span / 2 { report.wrong.append("the lock held up nobody") }
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }
}

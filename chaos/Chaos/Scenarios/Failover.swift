import Glibc
import Postgres
import Transport

/// A primary with a standby: the primary goes, the standby takes its place, and the server finds it by itself.
///
/// Before that, the standby gets nothing for a while. Where it is synchronous nothing can be confirmed meanwhile, and
/// what the server gave up waiting for must not count as done; where it is not, what is confirmed then is lost with the
/// primary, and the invariant checker has to notice.
struct Failover: Sendable {
    let tools: Tools
    /// For how long the standby gets nothing.
    var lag = Duration.seconds(8)
    /// How long it takes an operator to notice that the primary is gone.
    var notice = Duration.seconds(2)

    func play() async throws -> [Report] {
        [
            try await playSynchronous(),
            try await play("failover-control", isSynchronous: false, isSilent: false),
        ]
    }

    /// Without the control.
    func playSynchronous() async throws -> Report {
        try await play("failover", isSynchronous: true, isSilent: false)
    }

    /// The primary is not killed but falls silent: connections are not refused, and not answered.
    func playSilence() async throws -> [Report] {
        [try await play("silence", isSynchronous: true, isSilent: true)]
    }

    private func play(_ name: String, isSynchronous: Bool, isSilent: Bool) async throws -> Report {
        let standby = LockedBox<Cluster?>(nil)
        let line = Line()
        var plan = Site.Plan()
        plan.users = tools.users
        plan.relaysDatabase = false
        plan.databaseSettings = ["wal_level = replica", "max_wal_senders = 4", "wal_receiver_status_interval = '1s'"]
        plan.prepare = { primary, directory in
            let other = try Cluster(in: directory, named: "standby", waitsForDisk: tools.waitsForDisk)
            standby.value = other
            let relay = try Relay(.database, to: primary.port, watchedBy: line)
            try await other.create(asStandbyOf: relay.port, named: "standby")
            try await other.start()
            if isSynchronous { try await Self.demandStandby(of: primary) }
            return "postgresql://postgres@127.0.0.1:\(primary.port),127.0.0.1:\(other.port)/merchant"
                + "?target_session_attrs=read-write"
        }
        let result: Result<Report, any Error>
        do {
            result = .success(
                try await Site.open(name, with: tools, plan) { site in
                    guard let standby = standby.value else { throw CommandFailed(description: "no standby") }
                    return try await play(on: site, standby, line, isSynchronous: isSynchronous, isSilent: isSilent)
                })
        } catch {
            result = .failure(error)
        }
        await standby.value?.kill()
        return try result.get()
    }

    /// From now on nothing counts as committed that the standby does not have; returns when it has all.
    private static func demandStandby(of primary: Cluster) async throws {
        let database = try Database(primary.url("postgres"))
        try await database.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        try await database.execute("SELECT pg_reload_conf()")
        let isSynchronous = await eventually(within: .seconds(20)) {
            // While it connects there is no such row.
            let rows = try? await database.rows(
                "SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby' AND sync_state = 'sync'")
            return rows?.isEmpty == false
        }
        await database.close()
        if !isSynchronous { throw CommandFailed(description: "the standby does not become synchronous") }
    }

    private func play(
        on site: Site, _ standby: Cluster, _ line: Line, isSynchronous: Bool, isSilent: Bool
    ) async throws -> Report {
        let promotion = LockedBox(Duration.zero)
        let outage = LockedBox(Duration.zero)
        let begun = LockedBox(Monotonic.now())
        _ = try await Crowd(site).buying {
            try await site.trade(for: tools.load / 4)
            line.state.value = .held
            try await Loop.sleep(isSynchronous ? lag : lag / 4)
            begun.value = .now()
            if isSilent { site.cluster.halt() } else { await site.cluster.kill() }
            line.state.value = .down
            try await Loop.sleep(notice)
            try await standby.promote()
            promotion.value = .now() - begun.value
            try await site.trade(for: tools.load / 2)
            outage.value = site.testimony.longestGap(from: begun.value, to: .now())
        }
        // It must not come back as a primary of its own.
        await site.cluster.kill()
        let kind = isSynchronous ? "synchronous" : "asynchronous"
        let deed = isSilent ? "primary silent (SIGSTOP)" : "primary killed"
        var report = Report(
            isSynchronous ? deed + ", standby promoted" : "control: the same with an asynchronous standby",
            deeds: "\(kind) standby, cut off for \(Report.tenths(isSynchronous ? lag : lag / 4)) s, then the primary "
                + "gone, the standby promoted \(Report.tenths(promotion.value)) s later; gap counted from there")
        report.isControl = !isSynchronous
        report.gap = outage.value
        let database = try Database(standby.url())
        try await SiteChecker(site, database: database).check(&report)
        await database.close()
        return report
    }
}

/// The line between a primary and its standby.
private final class Line: Warden {
    enum State: Sendable {
        case up
        /// It stands, and nothing comes through.
        case held
        /// What was on its way is lost.
        case down
    }

    let state = LockedBox(State.up)

    func before(_ crossing: Crossing) -> RelayDecision {
        while case .held = state.value { usleep(10_000) }
        if case .down = state.value { return .cut }
        return .pass
    }

    func after(_ crossing: Crossing) {}
}

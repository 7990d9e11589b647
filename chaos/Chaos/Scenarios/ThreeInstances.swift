import Glibc
import HTTP
import Invariants
import JSON
import Transport

/// Three instances on one database behind HAProxy: one is killed, one is paused for longer than its lease and woken.
///
/// First under load, then while payments wait for Belvo and are polled: each once in an interval, by whichever
/// instance; and what the paused one wanted to write of its last looks must lose.
struct ThreeInstances: Sendable {
    let tools: Tools
    /// `POLL_INTERVAL_MS`.
    var interval = Duration.seconds(2)
    /// `BELVO_TIMEOUT_MS`.
    var callDeadline = Duration.seconds(2)
    /// For how long one is paused under load: longer than its lease, unless it is said.
    var pause: Duration?
    /// Payments that wait for Belvo.
    var waiting = 24
    /// How much longer than it has to be a record may be left alone: how slow the machine may be.
    var tolerance = Duration.milliseconds(1_500)

    /// What the server leases a record for: `Dependencies.workers`.
    private var lease: Duration { callDeadline * 2 + .seconds(5) }

    func play() async throws -> [Report] {
        let balancer = LockedBox<Balancer?>(nil)
        let sleeper = Sleeper()
        var plan = Site.Plan()
        plan.users = waiting
        plan.instances = 3
        plan.wardens = [3: sleeper]
        plan.settings = [
            "POLL_INTERVAL_MS": "\(interval.wholeNanoseconds / 1_000_000)", "POLL_DEADLINE_MS": "120000",
            "BELVO_TIMEOUT_MS": "\(callDeadline.wholeNanoseconds / 1_000_000)",
        ]
        let directory = "\(tools.scratch)/fleet"
        plan.balancer = { instances in
            let proxy = try Balancer(over: instances.map { ($0.name, $0.port) }, in: directory)
            balancer.value = proxy
            try await proxy.waitUntilReady()
            return proxy.port
        }
        defer { balancer.value?.stop() }
        return try await Site.open("fleet", with: tools, plan) { site in
            guard let balancer = balancer.value else { throw CommandFailed(description: "no HAProxy") }
            let load = try await underLoad(site, balancer)
            let looks = try await whileWaiting(site, sleeper)
            var report = Report(
                "three instances behind HAProxy",
                deeds:
                    "one killed, one paused for longer than its lease (\(Report.tenths(lease)) s) and woken, twice; "
                    + "failed requests: \(load.told); \(looks.told)")
            report.gap = load.gap
            report.wrong = load.wrong + looks.wrong
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }

    private struct Finding {
        var told = ""
        var wrong: [String] = []
        var gap = Duration.zero
    }

    /// Whose requests are lost: those of the killed one and of the paused one alone.
    private func underLoad(_ site: Site, _ balancer: Balancer) async throws -> Finding {
        var finding = Finding()
        finding.gap = try await Crowd(site).buying {
            try await site.trade(for: tools.load / 5)
            site.instances[1].kill()
            try await balancer.waitUntil(site.instances[1].name, is: "DOWN")
            site.instances[2].halt()
            try await balancer.waitUntil(site.instances[2].name, is: "DOWN")
            try await site.trade(for: pause ?? lease + .seconds(2))
            site.instances[2].wake()
            try await balancer.waitUntil(site.instances[2].name, is: "UP")
            try await site.trade(for: tools.load / 5)
            try await site.instances[1].start()
            try await balancer.waitUntil(site.instances[1].name, is: "UP")
        }
        let failures = balancer.failures
        let (killed, paused) = (site.instances[1].name, site.instances[2].name)
        // HAProxy hangs up without a word where a connection was used before, and answers itself where it was new: what
        // apps lack says how many there are.
        let errors = site.testimony.serverErrors
        let byBalancer = errors.filter { $0.key.hasSuffix(Testimony.byBalancer) }.values.reduce(0, +)
        let unanswered = (site.testimony.failures[0] ?? 0) + byBalancer
        finding.told =
            "\(unanswered) of apps and \(failures.values.reduce(0, +)) of webhooks at the killed and the paused one, "
            + "\(failures.filter { $0.key != killed && $0.key != paused }.values.reduce(0, +)) at the third"
        if unanswered > 2 * tools.users {
            finding.wrong.append("\(unanswered) requests had no answer: more than were under way at two instances")
        }
        for (answer, count) in errors where !answer.hasSuffix(Testimony.byBalancer) {
            finding.wrong.append("\(count) times \(answer)")
        }
        for (name, count) in failures.sorted(by: { $0.key < $1.key }) where name != killed && name != paused {
            finding.wrong.append("\(count) requests were lost at \(name)")
        }
        return finding
    }

    /// How often payments that wait are polled, and what the paused one's late writes come to.
    private func whileWaiting(_ site: Site, _ sleeper: Sleeper) async throws -> Finding {
        var finding = Finding()
        // No webhooks come: intents are read by polls alone.
        try await site.belvo.setVariants(["payment_settlement": "when_told", "webhook_copies": "0"])
        // So few that each is read by itself: from eight on one list shows many.
        let users = site.users.prefix(6)
        let purchases = users.enumerated().map { number, user in
            Loop.task { await user.buy("waiting-\(number)") }
        }
        let open = LockedBox<[String]>([])
        let areSigned = await eventually(within: .seconds(60)) {
            // A sandbox that does not answer is asked again.
            let intents = (try? await site.belvo.intents()) ?? []
            open.value = intents.filter { $0.authorized > 0 && $0.paid == 0 }.flatMap(\.ids)
            return open.value.count == users.count
        }
        guard areSigned else { throw CommandFailed(description: "not all payments were signed") }
        let begin = try await site.belvo.lastCall()
        guard try await areLookedAt(open.value, since: begin, times: 2, site) else {
            throw CommandFailed(description: "not all payments are looked at")
        }

        site.instances[1].kill()
        for id in open.value {
            try await site.belvo.control(.post, Target(path: "/sandbox/payment-intents/\(id)/turn"))
        }
        sleeper.victim.value = site.instances[2]
        guard await eventually(within: .seconds(20), every: .milliseconds(20), { sleeper.isAsleep.value }) else {
            throw CommandFailed(description: "the third instance looks at nothing")
        }
        // Another instance polls the rows that it had leased when the lease is over.
        let sleepBegin = try await site.belvo.lastCall()
        if try await !areLookedAt(open.value, since: sleepBegin, times: 1, site) {
            finding.wrong.append("what the paused instance had leased is not looked at")
        }
        let end = try await site.belvo.lastCall()
        for id in open.value {
            try await site.belvo.control(.post, Target(path: "/sandbox/payment-intents/\(id)/settle"))
        }
        let testimony = site.testimony
        _ = await eventually(within: .seconds(30)) { testimony.unpaid.isEmpty }
        sleeper.isAwake.value = true
        site.instances[2].wake()
        _ = await eventually(within: .seconds(10), every: .milliseconds(50)) { sleeper.late.value > 0 }
        for purchase in purchases { _ = await purchase.result }

        let gaps = site.belvo.calls.gaps(between: begin, and: end, of: Set(open.value))
        let (least, greatest) = (gaps.min() ?? 0, gaps.max() ?? 0)
        finding.told =
            "\(open.value.count) waiting payments looked at \(gaps.count + open.value.count) times, "
            + "\(Report.hundredths(least))–\(Report.hundredths(greatest)) s apart at an interval of "
            + "\(Report.tenths(interval)) s; \(sleeper.late.value) late writes, none of which won"
        let seconds = Double(interval.wholeNanoseconds) / 1e9
        if gaps.isEmpty { finding.wrong.append("nothing was looked at") }
        if least < seconds * 0.95 { finding.wrong.append("a payment was looked at twice within \(least) s") }
        let longest = Double((lease + interval + tolerance).wholeNanoseconds) / 1e9
        if greatest > longest { finding.wrong.append("a payment was left alone for \(greatest) s") }
        if sleeper.late.value == 0 { finding.wrong.append("the paused instance had nothing to write") }
        return finding
    }

    /// Waits until each of these intents has been polled so often; false when that takes too long.
    private func areLookedAt(_ intents: [String], since begin: Int, times: Int, _ site: Site) async throws -> Bool {
        await eventually(within: lease + interval * 2 + .seconds(20)) {
            // A sandbox that does not answer is asked again.
            guard let last = try? await site.belvo.lastCall() else { return false }
            let looks = site.belvo.calls.looks(between: begin, and: last, at: Set(intents))
            return intents.allSatisfy { looks[$0, default: []].count >= times }
        }
    }
}

/// Puts an instance to sleep when Belvo's reply to one of its looks is on its way, and counts what it wants to write of
/// it when it is awake again.
private final class Sleeper: Warden {
    let victim = LockedBox<Instance?>(nil)
    let isAsleep = LockedBox(false)
    let isAwake = LockedBox(false)
    let late = LockedBox(0)

    func before(_ crossing: Crossing) -> RelayDecision {
        if isAwake.value, crossing.kind == .write, crossing.label == "UPDATE payments" { late.update { $0 += 1 } }
        guard crossing.kind == .reply, crossing.label == "GET /payments/br/payment-intents/*" else { return .pass }
        if let instance = victim.update({ victim in
            defer { victim = nil }
            return victim
        }) {
            instance.halt()
            isAsleep.value = true
        }
        return .pass
    }

    func after(_ crossing: Crossing) {}
}

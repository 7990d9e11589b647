import HTTP
import JSON
import Postgres
import Synchronization
import TestSupport
import Testing
import Transport

@testable import Chaos

/// A site on which nothing goes wrong by itself, for those who break it by hand and for the invariant checker.
///
/// Belvo sends no webhooks there: what is broken stays broken.
final class ChaosHarness: Sendable {
    let site: Site
    private let loop: EventLoop
    private let known = Mutex(Report("", deeds: ""))

    @TaskLocal fileprivate static var current: ChaosHarness?

    fileprivate init(_ site: Site, on loop: EventLoop) {
        self.site = site
        self.loop = loop
    }

    /// Plays a test on the one site of its suite.
    static func session(_ body: @escaping @Sendable (ChaosHarness) async throws -> Void) async throws {
        let harness = try #require(current, "the suite has no courtroom")
        try await harness.loop.task { try await body(harness) }.value
    }

    /// Has a user buy something to its good end; gives our id of the payment.
    func buy(_ reference: String) async throws -> String {
        await user.buy(reference)
        try #require(!site.testimony.unpaid.contains(reference), "\(site.testimony.complaints)")
        return try await payment(of: reference)
    }

    var user: User { site.users[0] }

    /// Our id of the payment of a reference; waits until there is one.
    func payment(of reference: String) async throws -> String {
        try await text("SELECT id::text AS text FROM payments WHERE reference = \(reference)")
    }

    /// Belvo's id of a payment.
    func intent(of payment: String) async throws -> String {
        try await text("SELECT belvo_id::text AS text FROM payments WHERE id::text = \(payment)")
    }

    /// Belvo's id of a payment; waits until Belvo has its signature.
    func intent(ofSigned payment: String) async throws -> String {
        try await text(
            "SELECT belvo_id::text AS text FROM payments WHERE id::text = \(payment) AND authorization_accepted")
    }

    /// The first `text` that a query gives; waits until there is one.
    private func text(_ query: SQL) async throws -> String {
        let found = LockedBox<String?>(nil)
        _ = await eventually(within: .seconds(20), every: .milliseconds(20)) {
            found.value = try? await site.database.rows(query).first?.text("text")
            return found.value != nil
        }
        return try #require(found.value)
    }

    /// Changes rows behind the server's back. Throws unless there were any.
    func tamper(_ statements: SQL...) async throws {
        for statement in statements { _ = try await site.database.execute(statement) }
    }

    /// Sets the decision of Belvo's bank about payments from now on.
    func settle(_ choice: String) async throws {
        try await site.belvo.setVariants(["payment_settlement": choice])
    }

    /// Steers a payment at Belvo.
    func steer(_ intent: String, _ verb: String) async throws {
        try await site.belvo.control(.post, Target(path: "/sandbox/payment-intents/\(intent)/\(verb)"))
    }

    /// Judges; gives what was not there when it was judged before.
    func check() async throws -> Report {
        var report = Report("", deeds: "")
        try await SiteChecker(site).check(&report)
        let before = known.withLock { known in
            defer { known = report }
            return known
        }
        report.double = Self.news(in: report.double, since: before.double)
        report.lost = Self.news(in: report.lost, since: before.lost)
        report.stuck = Self.news(in: report.stuck, since: before.stuck)
        report.wrong = Self.news(in: report.wrong, since: before.wrong)
        report.differences -= before.differences
        return report
    }

    private static func news(in texts: [String], since before: [String]) -> [String] {
        let known = Set(before)
        return texts.filter { !known.contains($0) }.sorted()
    }
}

/// Opens the courtroom before the first test of a suite and closes it after the last.
struct InSession: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let settings = ["POLL_INTERVAL_MS": "100"]
        try await withoutActuallyEscaping(body) { body in
            try await ShortTools.with(settings: settings) { tools in
                // How long what is stuck is waited for, and no clock goes forward.
                var tools = tools
                tools.healing = .seconds(2)
                tools.timeouts = .seconds(3)
                var plan = Site.Plan()
                plan.users = 1
                plan.settleAfter = .milliseconds(50)
                try await Site.open("judge", with: tools, plan) { site in
                    let loop = try #require(EventLoop.current)
                    try await site.belvo.setVariants(["webhook_copies": "0"])
                    try await ChaosHarness.$current.withValue(ChaosHarness(site, on: loop)) { try await body() }
                }
            }
        }
    }
}

extension Trait where Self == InSession {
    /// The tests of the suite share one site.
    static var inSession: Self { InSession() }
}

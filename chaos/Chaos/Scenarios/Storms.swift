import Glibc
import HTTP
import Invariants
import JSON
import Postgres
import Transport

/// Webhooks and the bank's redirects come a hundred times at once, in the wrong order, forged, and before our own
/// commit.
public struct Storms: Sendable {
    let tools: Tools
    /// How often each comes.
    var copies = 100

    public init(tools: Tools) {
        self.tools = tools
    }

    public func play() async throws -> [Report] {
        let brake = WriteBrake()
        var plan = Site.Plan()
        plan.users = tools.users
        plan.warden = brake
        return try await Site.open("storm", with: tools, plan) { site in
            var wrong: [String] = []
            let gap = try await duplicates(site)
            try await reordered(site)
            wrong += try await forged(site)
            wrong += try await beforeCommit(site, brake)
            wrong += try await redirects(site)
            let received = try await site.database.rows(
                "SELECT count(*) AS receipts, sum(received_count)::bigint AS received FROM webhook_receipts"
            )
            let receipts: Int64 = try received[0].decode("receipts")
            let count: Int64 = try received[0].decode("received")
            var report = Report(
                "webhook and redirect storms",
                deeds:
                    "\(count) webhooks of \(receipts) kinds, \(copies) copies at once, in reverse, and before our own "
                    + "commit; \(3 * copies) forged ones; \(3 * copies) redirects of which 3 were different")
            report.gap = gap
            report.wrong = wrong
            if count < Int64(copies) { report.wrong.append("only \(count) webhooks came") }
            try await SiteChecker(site).check(&report)
            return [report]
        }
    }

    /// Every webhook comes a hundredfold while everybody buys.
    private func duplicates(_ site: Site) async throws -> Duration {
        try await site.belvo.setVariants(["webhook_copies": "\(copies)"])
        let gap = try await Crowd(site, "duplicates").buying(upTo: site.users.count * 2) {
            try await Loop.sleep(tools.load / 4)
        }
        try await site.belvo.setVariants(["webhook_copies": "1"])
        return gap
    }

    /// What Belvo has to tell is held back and then told from the end.
    private func reordered(_ site: Site) async throws {
        try await site.belvo.setVariants(["webhook_flow": "held"])
        _ = try await Crowd(site, "reordered").buying(upTo: site.users.count) {}
        try await site.belvo.control(
            .post, "/sandbox/webhooks/release", JSONWriter.object { $0.member("reversed", true) })
    }

    /// Webhooks are forged: without the token, with two of them, and with the right one.
    private func forged(_ site: Site) async throws -> [String] {
        try await site.belvo.setVariants(["payment_settlement": "when_told"])
        let user = site.users[0]
        let purchase = Loop.task { await user.buy("forged") }
        let found = LockedBox<IntentsOfPayment?>(nil)
        _ = await eventually(within: .seconds(20)) {
            found.value = (try? await site.belvo.intents())?.first { $0.authorized > 0 && $0.paid == 0 }
            return found.value != nil
        }
        guard let intent = found.value, let id = intent.ids.first else { return ["no payment waits for Belvo"] }
        let lie = Self.webhook(of: id, status: "SUCCEEDED")
        let right = "Bearer \(Secrets.webhookToken)"
        var wrong: [String] = []
        for (values, expected) in [
            (["Bearer wrong"], [401]), ([right, "Bearer wrong"], [400, 401]), ([right], [200]),
        ] {
            let statuses = try await send(copies, site) {
                var request = Request(
                    .post, "/webhooks/belvo", headers: ["content-type": "application/json"], body: lie)
                for value in values { request.headers.append("authorization", value) }
                return request
            }
            for (status, count) in statuses where !expected.contains(status) {
                wrong.append("\(count) forged webhooks were answered \(status)")
            }
        }
        try await Loop.sleep(.seconds(1))
        let state = try await site.database.rows("SELECT state FROM payments WHERE belvo_id::text = \(id)")
        if try state.first?.text("state") != "authorizing" { wrong.append("a lie was believed") }
        try await site.belvo.control(.post, Target(path: "/sandbox/payment-intents/\(id)/settle"))
        _ = await purchase.result
        try await site.belvo.setVariants(["payment_settlement": "after_ms:300"])
        return wrong
    }

    /// Belvo sends a webhook about an intent a hundred times while the row does not know its id yet.
    private func beforeCommit(_ site: Site, _ brake: WriteBrake) async throws -> [String] {
        let before = Set(try await site.belvo.intents().flatMap(\.ids))
        brake.isOn.value = true
        let user = site.users[0]
        let purchase = Loop.task { await user.buy("early") }
        let told = LockedBox<String?>(nil)
        _ = await eventually(within: .seconds(20), every: .milliseconds(10)) {
            guard brake.holds.value else { return false }
            told.value = (try? await site.belvo.intents())?.flatMap(\.ids).first { !before.contains($0) }
            return told.value != nil
        }
        var wrong: [String] = []
        if let id = told.value {
            let known = try await site.database.rows("SELECT 1 AS one FROM payments WHERE belvo_id::text = \(id)")
            if !known.isEmpty { wrong.append("the row knew Belvo's id before the storm") }
            try await site.belvo.control(
                .post, "/sandbox/webhooks/send",
                JSONWriter.object {
                    $0.memberRaw("body", Self.webhook(of: id, status: "PENDING"))
                    $0.member("copies", copies)
                })
            try await Loop.sleep(.seconds(1))
        } else {
            wrong.append("no write was held back")
        }
        brake.isOn.value = false
        _ = await purchase.result
        let taken = try await site.database.rows("SELECT count(*) AS rows FROM payments WHERE origin <> 'own'")
        if try taken[0].decode("rows", as: Int64.self) > 0 {
            wrong.append("our own payment was taken for somebody else's")
        }
        return wrong
    }

    /// The bank's redirect comes a hundredfold, beside one with a wrong code and one that was not asked for.
    private func redirects(_ site: Site) async throws -> [String] {
        try await site.belvo.readCalls()
        let calls = site.belvo.calls.calls.count { $0.endpoint == "complete_redirection" }
        let unexpected = LockedBox<[String]>([])
        try await site.users[0].enroll(0, at: site.belvo) { parameters in
            var good = FormFields()
            for (name, value) in parameters.members { good.append(name, value.string ?? "") }
            var bad = FormFields()
            bad.append("state", parameters["state"]?.string ?? "")
            bad.append("code", "wrong")
            bad.append("id_token", "wrong")
            var strange = FormFields()
            strange.append("state", "nobody-knows-this-one")
            strange.append("code", "wrong")
            for fields in [strange, bad, good] {
                let query = fields.encoded
                let statuses = try await send(copies, site) {
                    Request(.get, Target(path: "/enrollments/callback", query: query))
                }
                for (status, count) in statuses where status == 0 || status >= 500 {
                    unexpected.update { $0.append("\(count) redirects were answered \(status)") }
                }
            }
        }
        try await site.belvo.readCalls()
        let sent = site.belvo.calls.calls.count { $0.endpoint == "complete_redirection" } - calls
        if sent > 3 { unexpected.update { $0.append("Belvo was told \(sent) times of 3 redirects") } }
        return unexpected.value
    }

    /// Sends so many at once, and counts the answers by status; 0 for none.
    private func send(_ count: Int, _ site: Site, _ request: () -> Request) async throws -> [Int: Int] {
        let client = site.users[0].client
        let tasks = (0..<count).map { _ in
            let request = request()
            // No answer is an answer here.
            return Loop.task { (try? await client.send(request, deadline: .seconds(15)))?.status.code ?? 0 }
        }
        var statuses: [Int: Int] = [:]
        for task in tasks { statuses[try await task.value, default: 0] += 1 }
        return statuses
    }

    private static func webhook(of intent: String, status: String) -> [UInt8] {
        JSONWriter.object {
            $0.member("webhook_id", "c4a05")
            $0.member("webhook_type", "PAYMENT_INTENTS")
            $0.member("webhook_code", "STATUS_UPDATE")
            $0.member("object_id", intent)
            $0.memberObject("data") { $0.member("status", status) }
        }
    }
}

/// Holds back every write that changes a payment for as long as it is on.
///
/// Every one: the first may be of another payment that a worker reads late.
private final class WriteBrake: Warden {
    let isOn = LockedBox(false)
    let holds = LockedBox(false)

    func before(_ crossing: Crossing) -> RelayDecision {
        guard isOn.value, crossing.kind == .write, crossing.label == "UPDATE payments" else { return .pass }
        holds.value = true
        while isOn.value { usleep(10_000) }
        return .pass
    }

    func after(_ crossing: Crossing) {}
}

import HTTP
import JSON
import MerchantStore
import MerchantWorkflows
import Postgres
import Transport

/// Everything on one screen: which dependencies answer, what is pending and late, what is alarming.
package struct StatusReport: Sendable {
    /// How late a record's next step may be before an operator has to act.
    static let latenessMax = Duration.seconds(60)
    /// How long a webhook may be unread: an object that Belvo does not show yet is asked for during an hour.
    static let unreadMax = Duration.seconds(3_660)
    /// How long each question may take: the screen is wanted now.
    static let deadline = Duration.seconds(5)

    /// How the database, Belvo and the shop answer.
    let answers: [Finding]
    /// Empty when the database does not say it.
    let workload: [Workload]
    /// The kinds of unsettled money alarms, and how many there are of each.
    let alarms: [(kind: String, count: Int64)]

    /// The concerns for an operator, each in one line.
    package var concerns: [String] {
        var concerns = answers.filter { $0.severity == .failed }.map { "\($0.subject): \($0.detail)" }
        for kind in workload {
            if let late = kind.mostOverdue, late > Self.latenessMax {
                concerns.append("\(kind.name): the next step is \(Self.text(late)) late (ops.overdue)")
            }
            // Each is read within seconds; until then it may keep a reference from being paid.
            if kind.name == "webhooks", let age = kind.oldestPending, age > Self.unreadMax {
                concerns.append("webhooks: one has been unread for \(Self.text(age)) (ops.webhooks_unprocessed)")
            }
            if let count = kind.inDoubt, count > 0 { concerns.append("\(count) \(kind.name) in doubt (ops.in_doubt)") }
            if let count = kind.parked, count > 0 {
                concerns.append("\(count) \(kind.name) parked (ops.events_undelivered)")
            }
        }
        concerns += alarms.map { "money: \($0.count) of \($0.kind) (ops.money_alarms)" }
        return concerns
    }

    /// For a person at a terminal.
    package var text: String {
        var lines = answers.map { "\(padded($0.severity.rawValue, 8))\(padded($0.subject, 12))\($0.detail)" }
        if !workload.isEmpty {
            lines += ["", "            pending      oldest        late    in doubt      parked"]
            lines += workload.map { kind in
                let late = kind.mostOverdue.flatMap { $0 > .zero ? $0 : nil }
                let cells = [
                    "\(kind.pending)", kind.oldestPending.map(Self.text) ?? "-", late.map(Self.text) ?? "-",
                    kind.inDoubt.map(String.init) ?? "", kind.parked.map(String.init) ?? "",
                ]
                let row = padded(kind.name, 12) + cells.map { aligned($0, 7) }.joined(separator: "     ")
                return String(row.reversed().drop { $0 == " " }.reversed())
            }
        }
        lines.append("")
        let concerns = concerns
        lines += concerns.isEmpty ? ["all is well"] : concerns.map { "look at  \($0)" }
        return lines.joined(separator: "\n")
    }

    /// For a script.
    package var json: String {
        let bytes = JSONWriter.object { report in
            report.member("well", concerns.isEmpty)
            report.memberArray("answers") { list in
                for finding in answers {
                    list.object {
                        $0.member("subject", finding.subject)
                        $0.member("verdict", finding.severity.rawValue)
                        $0.member("detail", finding.detail)
                    }
                }
            }
            report.memberArray("workload") { list in
                for kind in workload {
                    list.object {
                        $0.member("what", kind.name)
                        $0.member("pending", kind.pending)
                        $0.member("oldest_seconds", kind.oldestPending?.components.seconds ?? 0)
                        $0.member("late_seconds", max(0, kind.mostOverdue?.components.seconds ?? 0))
                        if let count = kind.inDoubt { $0.member("in_doubt", count) }
                        if let count = kind.parked { $0.member("parked", count) }
                    }
                }
            }
            report.memberObject("money_alarms") { object in
                for (kind, count) in alarms { object.member(kind, count) }
            }
            report.memberArray("look_at") { list in
                for concern in concerns { list.element(concern) }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func aligned(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// A duration in its largest unit that leaves a whole number above nine, or in seconds.
    static func text(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        switch seconds {
        case ..<600: return "\(seconds) s"
        case ..<36_000: return "\(seconds / 60) min"
        case ..<864_000: return "\(seconds / 3_600) h"
        default: return "\(seconds / 86_400) days"
        }
    }
}

extension Operators {
    /// Asks everybody at once how things stand. Nothing is changed.
    package func status() async -> StatusReport {
        let (database, workload, alarms) = await askDatabase()
        var answers = [database, await askBelvo()]
        if let shop = await askShop() { answers.append(shop) }
        return StatusReport(answers: answers, workload: workload, alarms: alarms)
    }

    private func askDatabase() async -> (Finding, [Workload], [(kind: String, count: Int64)]) {
        let begin = Monotonic.now()
        do {
            let workload = try await dependencies.store.workload(within: StatusReport.deadline)
            let alarms = try await dependencies.store.openAlarms(within: StatusReport.deadline)
            let counts = MoneyAlarm.Kind.allCases.compactMap { kind in
                alarms[kind].flatMap { $0 > 0 ? (kind: kind.rawValue, count: $0) : nil }
            }
            return (answered("database", since: begin), workload, counts)
        } catch {
            return (Finding(severity: .failed, subject: "database", detail: "\(error)"), [], [])
        }
    }

    private func askBelvo() async -> Finding {
        let begin = Monotonic.now()
        let found = await examineBelvo()
        guard found.severity != .failed else { return found }
        return answered("belvo", since: begin, and: found.detail)
    }

    /// Asks the address of the shop's events without sending one: any answer shows that a server is there.
    private func askShop() async -> Finding? {
        guard let shop = settings.shopWebhook else { return nil }
        let begin = Monotonic.now()
        do {
            let origin = shop.url.origin
            let client = HTTP.Client(origin: origin, tls: origin.scheme == .https ? try TLSContext.client() : nil)
            let response = try await client.send(Request(.head, shop.url.target), deadline: StatusReport.deadline)
            return answered("shop", since: begin, and: "HEAD gets \(response.status.code)")
        } catch {
            return Finding(severity: .failed, subject: "shop", detail: "cannot be reached: \(error)")
        }
    }

    private func answered(_ subject: String, since begin: Monotonic, and detail: String? = nil) -> Finding {
        let milliseconds = (Monotonic.now() - begin).wholeNanoseconds / 1_000_000
        let text = "answers in \(milliseconds) ms"
        return Finding(severity: .ok, subject: subject, detail: detail.map { "\(text); \($0)" } ?? text)
    }
}

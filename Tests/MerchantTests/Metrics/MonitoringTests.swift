import FoundationEssentials
import JSON
import TestSupport
import Testing

@testable import MerchantServer

/// `deploy/monitoring` held against the program and the operations page. `./dev monitor-check` runs it for real.
@Suite struct MonitoringTests {
    @Test func `every alert has its section in the operations page, and every section its alert`() throws {
        let alerts = try Self.alerts()
        let lines = try Guide.lines(of: "docs/operations.md")
        let begin = try #require(lines.firstIndex(of: "## Alerts"))
        let section = lines[(begin + 1)...].prefix { !$0.hasPrefix("## ") }
        let titles = section.filter { $0.hasPrefix("### ") }.map { String($0.dropFirst(4)) }
        #expect(titles == alerts.map(\.name))
        for (title, next) in zip(titles, titles.dropFirst() + [""]) {
            let body = section.drop { $0 != "### \(title)" }.dropFirst().prefix { $0 != "### \(next)" }
            let alert = try #require(alerts.first { $0.name == title })
            let urgency = alert.lines.contains { $0.contains("severity: page") } ? "*Page.* " : "*Ticket.* "
            #expect(body.contains { $0.hasPrefix(urgency) }, "\(title) says how urgent it is")
            for part in ["- Cause: ", "- Do: "] { #expect(body.contains { $0.hasPrefix(part) }, "\(title): \(part)") }
            #expect(
                alert.lines.contains { $0.hasSuffix("runbook: docs/operations.md#\(title.lowercased())") },
                "\(title) names its section")
        }
    }

    @Test func `every alert has a unit test that makes it fire`() throws {
        let tests = try Guide.lines(of: "deploy/monitoring/tests/rules_test.yml")
        for alert in try Self.alerts() {
            #expect(
                tests.contains { $0.hasSuffix("- labels: '{alertname=\"\(alert.name)\"}'") },
                "\(alert.name) is made to fire")
        }
    }

    @Test func `rules and dashboard name metrics that there are, with labels that they have`() throws {
        let texts = try Self.queries() + Self.alerts().map { $0.lines.joined(separator: " ") }
        var seen: Set<String> = []
        for text in texts {
            for match in text.matches(of: /\b((?:merchant|process)_[a-z_]+)(\{[^}]*\})?/) {
                let name = String(match.1)
                let metric = try #require(Self.metric(name), "\(name) is a metric")
                seen.insert(metric.name)
                let labels = (match.2 ?? "").matches(of: /([a-z_]+)\s*[=!]~?=?\s*~?"/).map { String($0.1) }
                let known = Set(metric.labels + ["job", "instance", "le"])
                #expect(Set(labels).isSubset(of: known), "\(name) has the labels \(labels)")
            }
        }
        // What is measured for operators is seen by them.
        #expect(seen == Set(Metric.allCases.map(\.name)))
    }

    @Test func `the values of labels that rules and dashboard ask for are those that the server shows`() async throws {
        try await TestHarness.open { harness in
            let page = try await harness.metrics()
            for text in try Self.queries() + Self.alerts().map({ $0.lines.joined(separator: " ") }) {
                for match in text.matches(of: /\b((?:merchant|process)_[a-z_]+)\{([^}]*)\}/) {
                    let metric = try #require(Self.metric(String(match.1)))
                    let shown = try #require(page[metric.name], "\(metric.name) is shown")
                    for condition in match.2.matches(of: /([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/) {
                        let label = String(condition.1)
                        guard label != "job", label != "instance" else { continue }
                        let values = Set(shown.samples.compactMap { $0.labels[label] })
                        for value in condition.2.split(separator: "|") {
                            #expect(values.contains(String(value)), "\(metric.name) has \(label) \(value)")
                        }
                    }
                }
            }
        }
    }

    @Test(.enabled(if: isInstalled("promtool")))
    func `Prometheus accepts its configuration, and the unit tests of the rules pass`() async throws {
        let directory = Guide.root + "/deploy/monitoring"
        for arguments in [
            ["check", "config", "\(directory)/prometheus.yml"], ["check", "rules", "\(directory)/rules.yml"],
            ["test", "rules", "\(directory)/tests/rules_test.yml"],
        ] {
            let run = try await onThread { try ProgramRun(["/usr/bin/promtool"] + arguments, environment: [:]) }
            #expect(run.code == 0, "\(run)")
        }
    }

    @Test(.enabled(if: isInstalled("amtool"))) func `Alertmanager accepts its routes`() async throws {
        let path = Guide.root + "/deploy/monitoring/alertmanager.yml"
        let run = try await onThread { try ProgramRun(["/usr/bin/amtool", "check-config", path], environment: [:]) }
        #expect(run.code == 0, "\(run)")
    }

    private struct Alert {
        let name: String
        let lines: [String]
    }

    /// The alerts of the rules, each with its lines.
    private static func alerts() throws -> [Alert] {
        var alerts: [Alert] = []
        for line in try Guide.lines(of: "deploy/monitoring/rules.yml") where !line.hasPrefix("#") {
            if let name = line.wholeMatch(of: /\s*- alert: (\w+)/)?.1 {
                alerts.append(Alert(name: String(name), lines: []))
            } else if let last = alerts.popLast() {
                alerts.append(Alert(name: last.name, lines: last.lines + [line]))
            }
        }
        #expect(alerts.count > 20)
        return alerts
    }

    /// The dashboard's queries to Prometheus.
    private static func queries() throws -> [String] {
        let text = try Guide.lines(of: "deploy/monitoring/dashboard.json").joined(separator: "\n")
        var found: [String] = []
        func look(at value: JSONValue) {
            for (name, member) in value.members {
                if name == "expr", let text = member.string { found.append(text) } else { look(at: member) }
            }
            for element in value.elements { look(at: element) }
        }
        look(at: try JSONDocument(parsing: Array(text.utf8)).root)
        #expect(found.count > 40)
        return found
    }

    private static func metric(_ name: String) -> Metric? {
        let base = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) }
        return Metric(rawValue: name)
            ?? base.flatMap { Metric(rawValue: $0) }.flatMap { $0.kind == .histogram ? $0 : nil }
    }
}

private func isInstalled(_ program: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
}

import Transport

/// Plays scenarios one after the other and reports them.
public enum Chaos {
    /// Gives every verdict. A scenario that could not be played at all is a broken promise as well.
    public static func play(_ scenarios: [Scenario], with tools: Tools) async throws -> [Report] {
        var reports: [Report] = []
        for scenario in scenarios {
            tools.say("\(scenario.rawValue): \(scenario.summary) ...")
            let start = Monotonic.now()
            do {
                for report in try await scenario.play(with: tools) {
                    reports.append(report)
                    tools.say(report.row)
                    for finding in report.findings { tools.say("  \(finding)") }
                }
            } catch {
                var report = Report(scenario.summary, deeds: "could not be played")
                report.wrong = ["\(error)"]
                reports.append(report)
                tools.say("\(scenario.rawValue) could not be played: \(error)")
            }
            tools.say("\(scenario.rawValue) took \(Report.tenths(Monotonic.now() - start)) s")
        }
        return reports
    }

    /// Writes the verdicts as a table of Markdown.
    public static func write(_ reports: [Report], to path: String) throws {
        try TextFile.write(([Report.heading] + reports.map(\.row)).joined(separator: "\n") + "\n", to: path)
    }
}

import Transport

/// Plays scenarios one after the other and tells of them.
public enum Chaos {
    /// Gives every verdict. A scenario that could not be played at all is a broken promise as well.
    public static func play(_ scenarios: [Scenario], with tools: Tools) async throws -> [Verdict] {
        var verdicts: [Verdict] = []
        for scenario in scenarios {
            tools.say("\(scenario.rawValue): \(scenario.summary) ...")
            let start = Monotonic.now()
            do {
                for verdict in try await scenario.play(with: tools) {
                    verdicts.append(verdict)
                    tools.say(verdict.row)
                    for finding in verdict.findings { tools.say("  \(finding)") }
                }
            } catch {
                var verdict = Verdict(scenario.summary, deeds: "could not be played")
                verdict.wrong = ["\(error)"]
                verdicts.append(verdict)
                tools.say("\(scenario.rawValue) could not be played: \(error)")
            }
            tools.say("\(scenario.rawValue) took \(Verdict.tenths(Monotonic.now() - start)) s")
        }
        return verdicts
    }

    /// Writes the verdicts as a table of Markdown.
    public static func write(_ verdicts: [Verdict], to path: String) throws {
        try TextFile.write(([Verdict.heading] + verdicts.map(\.row)).joined(separator: "\n") + "\n", to: path)
    }
}

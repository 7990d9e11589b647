import ArgumentParser
import Chaos
import Glibc
import Transport

@main
struct ChaosProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Breaks a merchant's site in earnest, and judges what is left of its promises.",
        discussion: """
            The scenarios:
            \(Scenario.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))

            Exit code 0 when every promise was kept, 1 when not.
            """)

    @Argument(help: "Which scenarios; all of them without.") var names: [String] = []
    @Option(help: "The directory with merchant and belvo-sandbox.") var programs: String
    @Option(help: "An empty directory, which PostgreSQL's user may enter.") var scratch: String
    @Option(help: "Purchases in the sweep of kills.") var purchases = 500
    @Option(help: "How long the load of the other scenarios lasts, in seconds.") var seconds = 20
    @Option(help: "Where the section for docs/reliability.md is written.") var section: String?

    func validate() throws {
        for name in names where Scenario(rawValue: name) == nil {
            throw ValidationError(
                "there is no scenario \(name); there are \(Scenario.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        guard purchases > 0, seconds > 0 else { throw ValidationError("Sizes are 1 or more.") }
    }

    func run() throws {
        DescriptorLimit.raise()
        var tools = Tools(programs: programs, scratch: scratch)
        tools.purchases = purchases
        tools.load = .seconds(seconds)
        tools.say = { say($0) }
        let chosen = names.isEmpty ? Scenario.allCases : names.compactMap(Scenario.init)
        let loop = try EventLoop()
        let (section, final) = (section, tools)
        _ = loop.task {
            do {
                let reports = try await Chaos.play(chosen, with: final)
                if let section { try Chaos.write(reports, to: section) }
                Glibc.exit(reports.allSatisfy(\.isGood) ? 0 : 1)
            } catch {
                ChaosProgram.exit(withError: error)
            }
        }
        loop.run()
    }
}

/// One line, at once.
@Sendable private func say(_ line: String) {
    print(line)
    fflush(nil)
}

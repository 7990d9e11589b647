import ArgumentParser
import MerchantServer

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Looks at everything that has to be right for the server to work, and changes nothing.",
        discussion: """
            Exit code 0 when all is well or only worth a look, 1 when something does not work, 78 when the \
            configuration cannot be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        try options.operate { [json] operators in
            let findings = await operators.examine()
            if json {
                print(findings.json)
            } else {
                for finding in findings { print("\(finding.severity.rawValue)  \(finding.subject): \(finding.detail)") }
            }
            return findings.contains { $0.severity == .failed } ? Failing.found : 0
        }
    }
}

import ArgumentParser
import MerchantServer

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows on one screen what is pending, late, in doubt and alarming, and who answers.",
        discussion: """
            Exit code 0 when nobody has to look at anything, 1 when somebody has to, 78 when the configuration cannot \
            be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        try options.operate { [json] operators in
            let report = await operators.status()
            print(json ? report.json : report.text)
            return report.concerns.isEmpty ? 0 : Failing.found
        }
    }
}

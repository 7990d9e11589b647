import ArgumentParser
import MerchantModel
import MerchantServer

struct Reconcile: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares a day's payment intents and charges at Belvo with ours, in both directions.",
        discussion: """
            What differs is printed and shown by ops.reconciliation_differences. Exit code 0 when nothing differs, 1 \
            when something does, 69 when Belvo or the database is away.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(help: "The day, as YYYY-MM-DD.") var day: String
    @Option(help: "Whose day it is, as Z or -03:00: --time-zone=-03:00 for Brasília.") var timeZone = "Z"
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard UTCDay(day) != nil else { throw ValidationError("--day is a day of the calendar, as YYYY-MM-DD.") }
        guard UTCDay(day, zone: timeZone) != nil else {
            throw ValidationError("--time-zone is Z, or a distance from UTC such as -03:00 (--time-zone=-03:00).")
        }
    }

    func run() throws {
        guard let day = UTCDay(day, zone: timeZone) else { return }
        try options.operate { [json] operators in
            let differences = try await operators.reconcile(day)
            if json {
                print(differences.json(of: day))
            } else {
                for difference in differences { print(difference) }
                print("\(day): \(differences.count) \(differences.count == 1 ? "difference" : "differences")")
            }
            return differences.isEmpty ? 0 : Failing.found
        }
    }
}

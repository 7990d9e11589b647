import ArgumentParser
import MerchantServer

struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows one record's life as a timeline: who, when, under which request.",
        discussion: "Exit code 0 when something was found, 66 when not, 69 when the database is away.")

    @OptionGroup var options: SettingsOptions
    @Argument(help: "Our id or Belvo's, an end-to-end id, a reference, or a user's id.") var id: String
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        try options.operate { [id, json] operators in
            let found = try await operators.inspect(id)
            if json {
                print(found.json)
            } else if found.isEmpty {
                print("nothing is known by \(id)")
            } else {
                print(found.map(\.text).joined(separator: "\n\n"))
            }
            return found.isEmpty ? Failing.noInput : 0
        }
    }
}

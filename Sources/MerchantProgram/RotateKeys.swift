import ArgumentParser
import MerchantServer
import MerchantStore

struct RotateKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-keys",
        abstract: "Encrypts anew what is not under the first of ENCRYPTION_KEYS, while the servers go on.",
        discussion: """
            Put the new key first, restart the servers, run this, and then take the old key out. It can be ended and \
            begun again at any time. Exit code 0 when nothing is left under another key, 1 when something is, 69 \
            when the database is away.
            """)

    @OptionGroup var options: SettingsOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        try options.operate { [json] operators in
            let columns = try await operators.rotateKeys()
            if json {
                let rows = columns.map { column -> [(name: String, value: CommandValue)] in
                    [
                        ("column", .text(column.name)), ("encrypted", .number(column.encrypted)),
                        ("left", .number(column.left)),
                    ]
                }
                print(commandJSON(["columns": .objects(rows)]))
            } else {
                for column in columns {
                    print("\(column.name): \(column.encrypted) encrypted anew, \(column.left) left")
                }
            }
            return columns.allSatisfy { $0.left == 0 } ? 0 : Failing.found
        }
    }
}

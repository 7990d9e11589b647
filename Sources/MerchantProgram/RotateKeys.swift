import ArgumentParser
import Merchant

struct RotateKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-keys",
        abstract: "Encrypts anew what is not under the first of ENCRYPTION_KEYS, while the servers go on.",
        discussion: """
            Put the new key first, restart the servers, run this, and then take the old key out. It can be ended and \
            begun again at any time. Exit code 0 when nothing is left under another key.
            """)

    @OptionGroup var options: SettingsOptions

    func run() throws {
        try options.operate { operators in
            for (column, count) in try await operators.rotateKeys() { print("\(column): \(count) encrypted anew") }
            return 0
        }
    }
}

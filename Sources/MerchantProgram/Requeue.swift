import ArgumentParser
import MerchantServer

struct Requeue: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a record due for a poll, or an event due to be sent again, at once.",
        discussion: "Exit code 0 when something was queued, 66 when there was nothing to, 69 when the database is away."
    )

    @OptionGroup var options: SettingsOptions
    @Argument(help: "Our id or Belvo's, of a payment, an enrollment, a webhook or an event; or a reference.")
    var id: String
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        try options.operate { [id, json] operators in
            let queued = try await operators.requeue(id)
            guard !json else {
                print(commandJSON(["queued": .texts(queued)]))
                return queued.isEmpty ? Failing.noInput : 0
            }
            for name in queued { print("queued \(name)") }
            if queued.isEmpty { print("nothing is known by \(id) that could be queued") }
            return queued.isEmpty ? Failing.noInput : 0
        }
    }
}

import ArgumentParser
import Glibc
import MerchantModel
import MerchantServer
import MerchantStore
import Postgres
import Transport

struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings the database's schema up to date.",
        discussion: "Forward only, one transaction for each migration. Several at once wait for each other.")

    @OptionGroup var options: SettingsOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = options.settings()
        let loop = try EventLoop()
        _ = loop.task { [json] in
            do {
                let database = try Database(settings.databaseURL.text)
                let applied = try await Migrator(.merchant, of: database).migrate()
                if json {
                    print(commandJSON(["applied": .texts(applied)]))
                } else {
                    for name in applied { print("applied \(name)") }
                    if applied.isEmpty { print("the schema is up to date") }
                }
                loop.stop()
            } catch {
                Failing.exit(error)
            }
        }
        loop.run()
    }
}

import ArgumentParser
import Glibc
import MerchantServer
import Transport

struct Ready: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Asks the server of these settings on this machine whether it should get requests.",
        discussion: """
            For a container's health check, where there is no shell. Exit code 0 when /readyz on ADMIN_LISTEN says \
            yes, 69 when it says no, or nothing within 3 seconds.
            """)

    @OptionGroup var options: SettingsOptions

    func run() throws {
        let settings = options.settings()
        let loop = try EventLoop()
        _ = loop.task {
            do {
                let found = try await ReadyCheck.ask(settings)
                print(found.text)
                fflush(nil)
                Glibc.exit(found.isReady ? 0 : Failing.unavailable)
            } catch {
                Failing.exit(error)
            }
        }
        loop.run()
    }
}

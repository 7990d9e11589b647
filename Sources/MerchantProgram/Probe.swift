import ArgumentParser
import Glibc
import MerchantServer
import Transport

struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Goes through a payment of R$ 0.01 at Belvo, and says what Belvo's documents leave open.",
        discussion: """
            Without --through-shop nothing is paid. With it the server runs in this process, in the place of merchant \
            serve and with no payment above R$ 0.01, until a person has connected a bank and paid through the shop's \
            page. Belvo keeps what is made: a customer, an enrollment that nobody approves, intents that nobody signs. \
            The output has no secret and nothing personal. See docs/belvo-go-live.md. Exit code 0 when the answers are \
            as expected and the settings fit, 1 when somebody has to look, 78 when the configuration cannot be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(help: "The name of a person who agreed, and who is no customer of the shop's.") var name: String?
    @Option(help: "That person's CPF.") var identifier: String?
    @Option(help: "Belvo's id of an enrollment that has succeeded, to make payment intents with.")
    var enrollment: String?
    @Option(help: "Belvo's id of that enrollment's customer.") var customer: String?
    @Flag(help: "Makes a second customer with the same CPF, to see what Belvo says.") var repeatCustomer = false
    @Flag(help: "Runs the server until a person has paid R$ 0.01 through the shop's page.") var throughShop = false
    @Option(help: "For how many minutes at most.") var minutes = 15
    @Flag(help: "Sends redirect, registration and signature once more at the end, to see what Belvo says.")
    var repeatSteps = false
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard (name == nil) == (identifier == nil) else {
            throw ValidationError("--name and --identifier go together.")
        }
        guard (enrollment == nil) == (customer == nil) else {
            throw ValidationError("--enrollment and --customer go together.")
        }
        if let enrollment, let customer, ProbeMeans.Enrollment(enrollment, of: customer) == nil {
            throw ValidationError("Belvo's ids are UUIDs.")
        }
        guard throughShop || !repeatSteps else { throw ValidationError("--repeat-steps needs --through-shop.") }
        guard (1...120).contains(minutes) else { throw ValidationError("--minutes is 1 to 120.") }
    }

    /// Synchronous, so that it runs on the main thread: signals have to be blocked before there is another one.
    func run() throws {
        var means = ProbeMeans()
        if let name, let identifier {
            means.person = (name, identifier.filter { $0.isNumber || $0.isLetter })
        }
        if let enrollment, let customer { means.enrollment = ProbeMeans.Enrollment(enrollment, of: customer) }
        means.repeatsCustomer = repeatCustomer
        means.repeatsSteps = repeatSteps
        if throughShop { try ProbingServer.prepare() }
        try options.operate { [means, json, throughShop, minutes] operators in
            let report =
                throughShop
                ? try await ProbingServer.run(means, minutes, operators) : try await operators.probe(means)
            print(json ? report.json : report.text)
            return report.isInOrder ? 0 : Failing.found
        }
    }
}

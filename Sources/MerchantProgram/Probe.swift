import ArgumentParser
import MerchantServer

struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Goes through a payment of R$ 0.01 at Belvo without a phone, and says what Belvo's documents leave open.",
        discussion: """
            Nothing is paid. Belvo keeps what is made: a customer, an enrollment that nobody approves, intents that \
            nobody signs. The output has no secret and nothing personal. See docs/belvo-go-live.md. Exit code 0 when \
            the answers are as expected and the settings fit, 1 when somebody has to look, 78 when the configuration \
            cannot be read.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(help: "The name of a person who agreed, and who is no customer of the shop's.") var name: String?
    @Option(help: "That person's CPF.") var identifier: String?
    @Option(help: "Belvo's id of an enrollment that has succeeded, to make payment intents with.")
    var enrollment: String?
    @Option(help: "Belvo's id of that enrollment's customer.") var customer: String?
    @Flag(help: "Makes a second customer with the same CPF, to see what Belvo says.") var repeatCustomer = false
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
    }

    func run() throws {
        var means = ProbeMeans()
        if let name, let identifier {
            means.person = (name, identifier.filter { $0.isNumber || $0.isLetter })
        }
        if let enrollment, let customer { means.enrollment = ProbeMeans.Enrollment(enrollment, of: customer) }
        means.repeatsCustomer = repeatCustomer
        try options.operate { [means, json] operators in
            let report = try await operators.probe(means)
            print(json ? report.json : report.text)
            return report.differences.isEmpty && report.proposal == nil ? 0 : Failing.found
        }
    }
}

import ArgumentParser
import MerchantServer
import Payments

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints everything that is kept about a person, readable, as JSON.",
        discussion: """
            For a person who asks what is known (LGPD, article 18). The output is personal: give it to that person and \
            to nobody else. Exit code 0 when something is kept, 66 when nothing is, 69 when the database is away.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(help: "The user's id, 1 to 128 characters.") var subject: String
    @Flag(help: "Accepted as by the other commands; the output is JSON in any case.") var json = false

    func validate() throws {
        guard (try? UserSubject(subject)) != nil else { throw ValidationError("--subject has 1 to 128 characters.") }
    }

    func run() throws {
        let user = try UserSubject(subject)
        try options.operate { operators in
            guard let kept = try await operators.export(user) else {
                Failing.tell("there is no such user")
                return Failing.noInput
            }
            print(kept)
            return 0
        }
    }
}

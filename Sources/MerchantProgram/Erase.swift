import ArgumentParser
import MerchantServer
import MerchantStore
import Payments

struct Erase: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Forgets a person: what tells of the user goes, payments stay under a pseudonym.",
        discussion: """
            It cannot be undone. Exit code 0 when it was done, 66 when there is no such user, 69 when something of \
            theirs is not at its end or the database is away.
            """)

    @OptionGroup var options: SettingsOptions
    @Option(help: "The user's id, 1 to 128 characters.") var subject: String
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard (try? UserSubject(subject)) != nil else { throw ValidationError("--subject has 1 to 128 characters.") }
    }

    func run() throws {
        let user = try UserSubject(subject)
        try options.operate { [json] operators in
            guard let erasure = try await operators.erase(user) else {
                print(json ? commandJSON(["erased": false]) : "there is no such user")
                return Failing.noInput
            }
            guard !json else {
                print(
                    commandJSON([
                        "erased": true, "pseudonym": .text(erasure.pseudonym),
                        "enrollments": .number(erasure.enrollments), "payments": .number(erasure.payments),
                    ]))
                return 0
            }
            print(
                """
                erased; \(erasure.payments) payments and \(erasure.enrollments) enrollments stay as \
                \(erasure.pseudonym)
                """
            )
            return 0
        }
    }
}

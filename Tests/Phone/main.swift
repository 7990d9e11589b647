import ArgumentParser
import JSON
import SoftwareAuthenticator

/// A phone on the command line: what an app would answer, as JSON on standard output.
struct PhoneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "A phone with a fingerprint reader, in software, to enroll and pay with curl.",
        discussion: """
            OPTIONS is a file, or - for standard input: the options themselves, or an answer of the server that \
            carries them in its next_action. For demonstrations only: keys are kept in a plain file.
            """,
        subcommands: [Register.self, Sign.self, RiskSignals.self])
}

struct KeyFile: ParsableArguments {
    @Option(help: "Where the phone keeps its keys and its device id; made when missing.") var keyFile = "phone.json"
    var file: PhoneFile { PhoneFile(path: keyFile) }
}

struct Register: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a credential and print the confirmation_data.")
    @Argument(help: "The fido_registration_options.") var options: String
    @OptionGroup var keys: KeyFile
    @Option(help: "Make the answer wrong in this one respect.") var flaw: Flaw?
    @Option(help: "none or packed; as the options ask when left out.") var attestation: Attestation?
    @Flag(help: "Use RSA where the options permit it, as a PC may; a phone uses ECDSA.") var rsa = false

    func run() throws {
        var phone = try keys.file.load()
        phone.attestation = attestation
        if rsa { phone.algorithms = [.rs256] }
        let answer = try phone.register(readOptions(options, in: "fido_registration_options"), with: flaw)
        try keys.file.save(phone)
        printJSON(answer)
    }
}

struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Sign a payment and print the assertion.")
    @Argument(help: "The fido_options.") var options: String
    @OptionGroup var keys: KeyFile
    @Option(help: "Make the answer wrong in this one respect.") var flaw: Flaw?

    func run() throws {
        var phone = try keys.file.load()
        let answer = try phone.sign(readOptions(options, in: "fido_options"), with: flaw)
        try keys.file.save(phone)
        printJSON(answer)
    }
}

struct RiskSignals: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the risk_signals of the device.")
    @OptionGroup var keys: KeyFile
    @Option(help: "The customer's account_tenure, YYYY-MM-DD.") var accountTenure: String

    func run() throws {
        let phone = try keys.file.load()
        try keys.file.save(phone)
        printJSON(phone.riskSignals(accountTenure: accountTenure))
    }
}

extension Flaw: ExpressibleByArgument {}

extension Attestation: ExpressibleByArgument {}

func readOptions(_ path: String, in member: String) throws -> JSONValue {
    let root = try JSONDocument(parsing: PhoneFile.contents(of: path)).root
    return root["next_action"]?[member] ?? root
}

func printJSON(_ bytes: [UInt8]) {
    print(String(decoding: bytes, as: UTF8.self))
}

PhoneCommand.main()

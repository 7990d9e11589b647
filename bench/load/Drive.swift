import ArgumentParser
import Glibc
import HTTP
import SoftwareAuthenticator
import Transport

struct Drive: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Enrolls one phone for each token, then does what it is told on standard input.",
        discussion: """
            Orders, one a line, each answered by a line:
              begin create N   N users begin to open payments, one after the other, each for itself
              begin sign N     N users begin to open payments and to sign them, and leave them to Belvo
              begin pay N      N users begin to pay: open, sign, authorize, and look until it is paid
              begin steady N   N users begin to open payments and to sign them, each with a second's rest between two
              count            what was done since the last order: DONE FAILED ELAPSED_US P50_US P99_US
              end              they finish the request they are at
            The line "enrolled" comes first. The end of the input ends the program.
            """)

    @Option(help: "The server's origin.") var merchant: String
    @Option(help: "The origin of belvo-sandbox, whose bank page the users see.") var sandbox: String
    @Option(help: "The certificate authority of belvo-sandbox (PEM).") var sandboxCAFile: String
    @Option(help: "A file of tokens, one a line, each for a user of its own.") var tokens: String
    @Flag(help: "Each payment names a reference of its own, as a shop's payments do.") var references = false

    func run() throws {
        let (tokens, references) = (try PhoneFile.lines(of: tokens), references)
        let bank = Client(
            origin: try origin(sandbox), tls: try .client(extraAuthorities: sandboxCAFile),
            configuration: .connections(tokens.count))
        let merchant = Client(origin: try origin(merchant), configuration: .connections(tokens.count))

        let loop = try EventLoop()
        _ = loop.task {
            do {
                let users = try await User.enrollAll(
                    tokens: tokens, namingReferences: references, at: merchant, bank: bank, on: loop)
                var crowd = Crowd(users, on: loop)
                say("enrolled")
                while let line = await BlockingThreads.shared.run({ readLine() }) {
                    say(try await crowd.obey(Order(line)))
                }
                loop.stop()
            } catch {
                Drive.exit(withError: error)
            }
        }
        loop.run()
    }

}

extension PhoneFile {
    /// The lines of a file.
    static func lines(of path: String) throws -> [String] {
        try contents(of: path).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The origin that an option names.
func origin(_ text: String) throws -> URL.Origin {
    guard let url = URL(text) else { throw ValidationError("\(text) is not an http or https URL.") }
    return url.origin
}

extension ClientConfiguration {
    /// A connection for each user, as phones have it: no request waits in line on this side.
    fileprivate static func connections(_ count: Int) -> ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.connectionsMax = count
        return configuration
    }
}

/// One line, at once: standard output is a pipe to a script that waits for it.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

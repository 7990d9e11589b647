import ArgumentParser
import MerchantAuth
import MerchantModel
import MerchantServer
import Payments
import Transport

struct Token: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a token for trying the server out, signed with AUTH_HS256_SECRET.")

    @OptionGroup var options: SettingsOptions
    @Option(help: "The user's id, 1 to 128 characters.") var subject: String
    @Option(help: "How long it is good for, in seconds.") var lifetime = 86_400
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard lifetime > 0 else { throw ValidationError("--lifetime is at least a second.") }
        guard (try? UserSubject(subject)) != nil else { throw ValidationError("--subject has 1 to 128 characters.") }
    }

    func run() throws {
        let auth = options.settings().auth
        guard case .hs256(let secret) = auth.keys else {
            throw ValidationError("Tokens are signed elsewhere: the server knows public keys only.")
        }
        let user = try UserSubject(subject)
        let loop = try EventLoop()
        _ = loop.task { [lifetime, json] in
            do {
                let token = try await DemoTokens.issue(
                    subject: user, secret: secret, lifetime: .seconds(lifetime), now: WallClock.now(),
                    issuer: auth.issuer, audience: auth.audience)
                print(json ? commandJSON(["token": .text(token)]) : token)
                loop.stop()
            } catch {
                Failing.exit(error)
            }
        }
        loop.run()
    }
}

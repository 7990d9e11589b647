import ArgumentParser
import BelvoSandbox
import Glibc
import HTTP
import Transport

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Answers as Belvo would, until SIGINT or SIGTERM.",
        discussion: """
            The API key is SANDBOX_SECRET_ID and SANDBOX_SECRET_PASSWORD in the environment, \
            by default sandbox-id and sandbox-password.
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable { case demo, test }

    @Option(help: "Numeric address and port.") var listen = "127.0.0.1:9443"
    @Option(help: "Where clients reach it; by default the address it listens on.") var publicURL: String?
    @Option(help: "Certificate chain (PEM); with it and its key, https.") var tlsCertFile: String?
    @Option(help: "Private key (PEM).") var tlsKeyFile: String?
    @Option(help: "demo: things settle by themselves; test: when told to.") var mode = Mode.demo
    @Option(help: "How long they take in demo mode.") var settleAfterMs = 3000
    @Option(help: "The relying party of credentials; localhost for a browser on this machine.") var rpId = "belvo.com"
    @Option(help: "Where webhooks go.") var webhookURL: String?
    @Option(help: "Sent with webhooks as a bearer token.") var webhookToken: String?
    @Option(help: "Certificate authorities (PEM) to trust for webhooks.") var webhookCAFile: String?
    @Option(help: "Between two attempts of a webhook.") var webhookRetryMs = 60_000

    func validate() throws {
        guard (tlsCertFile == nil) == (tlsKeyFile == nil) else {
            throw ValidationError("--tls-cert-file and --tls-key-file go together.")
        }
        guard settleAfterMs >= 0, webhookRetryMs >= 0 else { throw ValidationError("A time is 0 ms or more.") }
    }

    /// Synchronous, so that it runs on the main thread: signals have to be blocked before there is another one.
    func run() throws {
        try Signals.block([SIGINT, SIGTERM])
        guard let address = SocketAddress(parsing: listen) else {
            throw ValidationError("--listen takes a numeric address and a port.")
        }
        let listener = try Listener(at: address)
        let loop = try EventLoop()
        let sandbox = Sandbox(configuration: try makeConfiguration(listener.address))
        let server = SandboxServer(sandbox: sandbox, listener: listener, tls: try makeTLS())
        print("belvo-sandbox (\(mode)) at \(sandbox.configuration.publicURL)")
        print("beneficiary bank account: \(sandbox.beneficiary)")
        fflush(nil)

        _ = loop.task {
            do {
                try await server.run(on: loop) { try await Termination.wait(on: loop) }
                loop.stop()
            } catch {
                Serve.exit(withError: error)
            }
        }
        loop.run()
    }

    private func makeConfiguration(_ address: SocketAddress) throws -> SandboxConfiguration {
        var configuration = mode == .demo ? .demo(settleAfter: .milliseconds(settleAfterMs)) : SandboxConfiguration()
        configuration.relyingParty = rpId
        configuration.publicURL = publicURL ?? "\(tlsCertFile == nil ? "http" : "https")://\(address)"
        if let id = getenv("SANDBOX_SECRET_ID") { configuration.secretID = String(cString: id) }
        if let password = getenv("SANDBOX_SECRET_PASSWORD") { configuration.secretPassword = String(cString: password) }
        configuration.webhookRetryInterval = .milliseconds(webhookRetryMs)
        guard let webhookURL else { return configuration }
        guard let url = URL(webhookURL) else { throw ValidationError("--webhook-url takes an http or https URL.") }
        configuration.webhookSubscriptions = [try .overHTTP(to: url, token: webhookToken, authorities: webhookCAFile)]
        return configuration
    }

    private func makeTLS() throws -> TLSContext? {
        guard let tlsCertFile, let tlsKeyFile else { return nil }
        return try .server(certificateChain: tlsCertFile, privateKey: tlsKeyFile)
    }
}

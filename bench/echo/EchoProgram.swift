import ArgumentParser
import Glibc
import HTTP
import Postgres
import Transport

@main
struct EchoProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "What `./dev bench-http` compares with other servers: four routes over the merchant's own layers.",
        discussion: """
            GET /static         an answer that is always the same
            POST /echo          a JSON document, read member by member and written anew
            GET /rows/{id}      one SELECT by key
            POST /rows          one INSERT, committed before it is answered
            One event loop; runs until it is killed.
            """)

    @Option(help: "Where it listens.") var listen: String
    @Option(help: "The certificate's chain, a PEM file: then it speaks https only.") var certificate: String?
    @Option(help: "The certificate's private key, a PEM file.") var key: String?
    @Option(help: "How many requests a connection may bring.") var requestsPerConnection = Int.max
    @Option(help: "The PostgreSQL with the table of the last two routes, as a connection string.") var database: String?

    func run() throws {
        DescriptorLimit.raise()
        guard let address = SocketAddress(parsing: listen) else {
            throw ValidationError("--listen takes an address and a port.")
        }
        let rows = try database.map { Rows(try Database($0)) }
        let loop = try EventLoop()
        let routes = Routes(rows: rows)
        var configuration = ServerConfiguration()
        configuration.connectionsPerAddressMax = 0
        configuration.requestsPerConnectionMax = requestsPerConnection
        let refusal: @Sendable (MessageFault) -> Response = { Routes.refusal($0.status) }
        let server = Server(configuration: configuration, tls: try tls(), refusal: refusal) { request, _ in
            .response(await routes.respond(to: request))
        }
        _ = loop.task {
            do {
                try await server.listen(to: try Listener(at: address), on: [loop])
            } catch {
                EchoProgram.exit(withError: error)
            }
        }
        loop.run()
    }

    private func tls() throws -> TLSContext? {
        guard let certificate, let key else { return nil }
        return try TLSContext.server(certificateChain: certificate, privateKey: key)
    }
}

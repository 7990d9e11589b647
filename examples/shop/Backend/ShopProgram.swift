import ArgumentParser
import Glibc
import HTTP
import JSON
import Postgres
import Transport

@main
struct ShopProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shop",
        abstract: "An example shop: its page, and the backend that every adopter of the merchant server writes.",
        discussion: """
            AUTH_HS256_SECRET, SHOP_TOKEN and SHOP_WEBHOOK_SECRET are read from the file that --config names. \
            For demonstrations on one machine: everybody who reaches it may buy, and may break things.
            """)

    @Option(help: "Numeric address and port; the page is opened as http://localhost:PORT.") var listen =
        "127.0.0.1:3000"
    @Option(help: "Where the merchant server is reached, by the page too.") var merchant = "http://127.0.0.1:8080"
    @Option(help: "The stand-in for Belvo: its control API shows and breaks things.") var sandbox: String?
    @Option(help: "The merchant server's settings, a file of NAME=value lines.") var config: String
    @Option(help: "The file with the operators' read-only connection string.") var databaseFile: String?
    @Option(help: "The file with the merchant server's process id, where the page may kill it.") var processFile:
        String?
    @Option(help: "What each thing costs instead of its price, in centavos: 1 for merchant probe --through-shop.")
    var centavos: Int?
    @Option(help: "The directory with the page's files.") var page = "examples/shop/Page"

    func run() throws {
        Signals.ignoreBrokenPipes()
        guard let address = SocketAddress(parsing: listen) else {
            throw ValidationError("--listen takes a numeric address and a port.")
        }
        let secrets = try Secrets(file: config)
        let listener = try Listener(at: address)
        let merchant = Remote(try origin(merchant, "--merchant"))
        let sandbox = try sandbox.map { Remote(try origin($0, "--sandbox")) }
        let journal = Journal()
        let stage = Backstage(
            journal: journal, merchant: merchant, sandbox: sandbox,
            records: try databaseFile.map { try Records(connectionString: ConfigurationFile.text(of: $0)) },
            processFile: processFile)
        let shop = Shop(
            port: listener.address.port, page: Page(directory: page),
            products: centavos.map { Product.all(at: $0) } ?? Product.all, secrets: secrets, merchant: merchant,
            journal: journal, backstage: stage)
        let loop = try EventLoop()
        let server = Server(refusal: { Response($0.status) }, handler: { request, _ in await shop.reply(to: request) })
        _ = loop.task {
            do {
                try await server.listen(to: listener, on: [loop])
                print("shop at http://localhost:\(listener.address.port)")
                fflush(nil)
                await stage.watch(on: loop)
            } catch {
                ShopProgram.exit(withError: error)
            }
        }
        loop.run()
    }

    private func origin(_ text: String, _ option: String) throws -> URL.Origin {
        guard let url = URL(text) else { throw ValidationError("\(option) takes an http or https URL.") }
        return url.origin
    }
}

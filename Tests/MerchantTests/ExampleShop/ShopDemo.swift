import FoundationEssentials
import Glibc
import HTTP
import JSON
import TestSupport
import Testing
import Transport

@testable import MerchantStore

/// The programs of `./dev run`, for one test: the stand-in for Belvo, the server and the example shop as processes, on
/// a database of their own. The server is started again when it was killed.
struct ShopDemo: Sendable {
    /// Where the page is opened.
    let address: String
    /// Where the merchant server is.
    let server: String
    private let sandbox: String
    private let settings: String
    private let loop: EventLoop
    /// The program that runs as the server.
    private let merchant: RunningProgram

    /// Whether everything that it takes has been built.
    static let isPossible = ["merchant", "belvo-sandbox", "shop"].allSatisfy { program($0) != nil }

    /// Plays the body with everything running; as the server `merchant probe --through-shop` with these options, where
    /// there are some, and then everything in the shop costs R$ 0.01.
    static func open(
        probing options: [String]? = nil, _ body: @escaping @Sendable (ShopDemo) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            try await TestDatabase.with(.merchant) { database in
                let place = try Place()
                let ports = try freePorts(3)
                let settings = settings(database.connectionString, ports)
                try place.write(settings.map { "\($0)=\($1)\n" }.joined(), to: "demo.env")
                try place.write(database.connectionString, to: "reader.url")
                var programs: [RunningProgram] = []
                let result: Result<Void, any Error>
                do {
                    let commands = try commands(
                        ports, place, token: try #require(settings["BELVO_WEBHOOK_TOKEN"]), probing: options)
                    // One after the other: a probe calls the stand-in as soon as it runs.
                    for (command, port) in zip(commands, ports) {
                        programs.append(try RunningProgram(command, environment: ["PATH": "/usr/bin:/bin"]))
                        try await wait(for: port, on: loop)
                    }
                    let demo = ShopDemo(
                        address: "http://localhost:\(ports[2])/", server: "http://127.0.0.1:\(ports[1])",
                        sandbox: "http://127.0.0.1:\(ports[0])", settings: place.path(of: "demo.env"), loop: loop,
                        merchant: programs[1])
                    result = .success(try await body(demo))
                } catch {
                    result = .failure(error)
                }
                for program in programs.reversed() {
                    kill(program.process, SIGTERM)
                    _ = await (try onThread { program.waitForEnd() })
                }
                try result.get()
            }
        }
    }

    /// A user's token, by the command for that.
    func token(of subject: String) async throws -> String {
        let program = try #require(Self.program("merchant"))
        let settings = settings
        let run = try await onThread {
            try ProgramRun([program, "token", "--subject", subject, "--config", settings], environment: [:])
        }
        return try #require(run.output.split(separator: "\n").first.map(String.init), "\(run)")
    }

    /// Places the order, as the shop's backend does before its app may pay. Returns the answer's status.
    func placeOrder(_ reference: String, of subject: String, amount: String) async throws -> Int {
        let client = Self.client(to: server)
        let shop = App(client: client, token: Self.shopToken)
        let order = #"{"subject": "\#(subject)", "amount": "\#(amount)", "description": "Two coffees"}"#
        let status = try await shop.send(.put, "/orders/\(reference)", order).status
        await client.closeIdle(on: loop)
        return status
    }

    /// Asks the stand-in's control API.
    func askSandbox(_ method: HTTP.Method, _ path: String, _ body: String = "") async throws -> Response {
        let client = Self.client(to: sandbox)
        let request = Request(
            method, Target(stringLiteral: path), headers: ["content-type": "application/json"], body: Array(body.utf8))
        let answer = try await client.send(request, deadline: .seconds(5))
        await client.closeIdle(on: loop)
        return answer
    }

    /// Ends the probe that runs as the server, and gives its report.
    func endProbe() async throws -> JSONValue {
        kill(merchant.process, SIGTERM)
        while true {
            // Until the line is there to its end.
            let line = merchant.lines.first { $0.contains(#""not_tried""#) } ?? ""
            if let report = try? JSONDocument(parsing: Array(line.utf8)) { return report.root }
            try await loop.sleep(for: .milliseconds(20))
        }
    }

    private static let shopToken = "shop-token-of-the-demo"

    /// The commands of the programs that listen at the ports.
    private static func commands(
        _ ports: [UInt16], _ place: Place, token: String, probing options: [String]?
    ) throws -> [[String]] {
        let sandbox = "http://127.0.0.1:\(ports[0])"
        let merchant = "http://127.0.0.1:\(ports[1])"
        let processFile = place.path(of: "process.id")
        return [
            [
                try #require(program("belvo-sandbox")), "serve", "--mode", "demo", "--rp-id", "localhost",
                "--settle-after-ms", "300", "--listen", "127.0.0.1:\(ports[0])", "--public-url", sandbox,
                "--webhook-url", "\(merchant)/webhooks/belvo", "--webhook-token", token,
            ],
            (try options.map { [try #require(program("merchant")), "probe", "--through-shop", "--json"] + $0 }
                ?? [
                    "\(Guide.root)/scripts/lib/keep-running", processFile, try #require(program("merchant")), "serve",
                ]) + ["--config", place.path(of: "demo.env")],
            [
                try #require(program("shop")), "--listen", "127.0.0.1:\(ports[2])", "--merchant", merchant,
                "--sandbox", sandbox, "--config", place.path(of: "demo.env"), "--database-file",
                place.path(of: "reader.url"), "--process-file", processFile, "--page",
                "\(Guide.root)/examples/shop/Page",
            ] + (options == nil ? [] : ["--centavos", "1"]),
        ]
    }

    private static func settings(_ database: String, _ ports: [UInt16]) -> [String: String] {
        let (sandbox, merchant, shop) = (ports[0], ports[1], ports[2])
        return [
            "DATABASE_URL": database, "PUBLIC_BASE_URL": "http://127.0.0.1:\(merchant)",
            "LISTEN": "127.0.0.1:\(merchant)", "ADMIN_LISTEN": "127.0.0.1:0",
            "BELVO_BASE_URL": "http://127.0.0.1:\(sandbox)", "BELVO_SECRET_ID": "sandbox-id",
            "BELVO_SECRET_PASSWORD": "sandbox-password",
            "BELVO_BENEFICIARY_BANK_ACCOUNT": "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10",
            "BELVO_WEBHOOK_TOKEN": "webhook-token-of-the-demo", "AUTH_HS256_SECRET": TestHarness.secret,
            "ENCRYPTION_KEYS": "first:\(Data(repeating: 1, count: 32).base64EncodedString())",
            "LOOKUP_KEY": Data(repeating: 2, count: 32).base64EncodedString(),
            "SHOP_TOKEN": shopToken,
            "SHOP_WEBHOOK_SECRET": "whsec_\(Data(repeating: 3, count: 32).base64EncodedString())",
            "SHOP_WEBHOOK_URL": "http://127.0.0.1:\(shop)/webhooks/payments",
            "CORS_ORIGINS": "http://localhost:\(shop)", "WEB_RETURN_URL": "http://localhost:\(shop)/?from=bank",
            "POLL_INTERVAL_MS": "500",
        ]
    }

    /// Tries until a server answers there.
    private static func wait(for port: UInt16, on loop: EventLoop) async throws {
        let client = client(to: "http://127.0.0.1:\(port)")
        for _ in 0..<600 {
            if let answer = try? await client.send(Request(.get, "/readyz"), deadline: .seconds(5)),
                answer.status.code > 0
            {
                return await client.closeIdle(on: loop)
            }
            try await loop.sleep(for: .milliseconds(50))
        }
        throw BrowserFailure("nobody answers at port \(port)")
    }

    private static func client(to origin: String) -> HTTP.Client {
        HTTP.Client(origin: HTTP.URL("\(origin)/")!.origin)
    }

    /// Ports that were free a moment ago.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        let loopback = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        let listeners = try (0..<count).map { _ in try Listener(at: loopback) }
        return listeners.map(\.address.port)
    }

    private static func program(_ name: String) -> String? {
        let path = CommandTests.program?.split(separator: "/").dropLast().joined(separator: "/")
        return path.map { "/\($0)/\(name)" }.flatMap { access($0, X_OK) == 0 ? $0 : nil }
    }
}

/// A directory that is gone with its owner.
private final class Place: Sendable {
    private let directory: String

    init() throws {
        directory = "/tmp/shop-demo-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    }

    // A directory left behind matters less than what the test found.
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func path(of name: String) -> String { "\(directory)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path(of: name)))
        chmod(path(of: name), 0o600)
    }
}

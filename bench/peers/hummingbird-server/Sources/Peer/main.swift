// Hummingbird with the first two routes of bench/echo, for ./dev bench-http.

import FoundationEssentials
import Hummingbird
import Logging
import NIOPosix

struct Order: ResponseCodable {
    struct Amount: Codable {
        let currency: String
        let centavos: Int64
    }

    struct Payer: Codable {
        let name: String
        let email: String
        let device: String
    }

    struct Item: Codable {
        let name: String
        let quantity: Int64
        let centavos: Int64
    }

    let reference: String
    let description: String
    let amount: Amount
    let payer: Payer
    let items: [Item]
    let repeated: Bool
    let note: String?
}

struct Alive: ResponseEncodable {
    let status: String
}

// One core, so one loop, as it is with the other servers.
let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let router = Router()
let alive = ByteBuffer(string: #"{"status":"ok"}"#)
router.get("static") { _, _ in
    Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: alive))
}
router.post("echo") { request, context in
    try await request.decode(as: Order.self, context: context)
}
var logger = Logger(label: "peer")
logger.logLevel = .error
let port = Int(CommandLine.arguments[1]) ?? 0
let application = Application(
    router: router, configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: nil),
    eventLoopGroupProvider: .shared(loops), logger: logger)
try await application.runService()

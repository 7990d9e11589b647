import FoundationEssentials
import HTTP
import JSON
import Synchronization
import TestSupport
import Testing
import Transport

/// The shop's server, as far as this one sees it: an address that takes events, or does not.
final class ShopDouble: Sendable {
    private struct State {
        var isAway = false
        var bodies: [String] = []
    }

    private let url: String
    private let state = Mutex(State())

    private init(url: String) {
        self.url = url
    }

    /// The server's settings about the shop.
    var environment: [String: String] {
        [
            "SHOP_WEBHOOK_URL": url,
            "SHOP_WEBHOOK_SECRET": "whsec_\(Data(repeating: 3, count: 32).base64EncodedString())",
        ]
    }

    /// Whether it answers 503.
    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// The types of the events that it got, in order.
    var types: [String] {
        state.withLock { $0.bodies }.map { body in
            (try? JSONDocument(parsing: Array(body.utf8)).root["type"]?.string) ?? body
        }
    }

    /// The references and amounts of the events of payments that succeeded, in order.
    var successes: [String] {
        state.withLock { $0.bodies }.compactMap { body in
            guard let event = try? JSONDocument(parsing: Array(body.utf8)).root,
                event["type"]?.string == "payment.succeeded", let payment = event["data"]
            else { return nil }
            return [payment["reference"]?.string, payment["amount"]?.string].compactMap(\.self).joined(separator: " ")
        }
    }

    /// Runs the body beside such a shop on the loopback interface.
    static func serving(_ body: @escaping @Sendable (ShopDouble) async throws -> Void) async throws {
        try await withLoop { loop in
            let listener = try Listener(at: #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
            let shop = ShopDouble(url: "http://\(listener.address)/events")
            let server = HTTP.Server(
                configuration: .prompt, refusal: { Response($0.status) },
                handler: { request, _ in .response(shop.reply(to: request)) })
            try await server.listen(to: listener, on: [loop])
            let result: Result<Void, any Error>
            do { result = .success(try await body(shop)) } catch { result = .failure(error) }
            await server.drain(loops: [loop], within: .seconds(1))
            try result.get()
        }
    }

    private func reply(to request: Request) -> Response {
        state.withLock { state in
            guard !state.isAway else { return Response(.serviceUnavailable) }
            state.bodies.append(String(decoding: request.body, as: UTF8.self))
            return Response(.noContent)
        }
    }
}

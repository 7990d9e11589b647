import HTTP
import Synchronization
import TestSupport
import Testing
import Transport

/// The identity provider of the users, as the server sees it: an address that serves a key set.
final class KeySetServer: Sendable {
    private struct State {
        var document: String?
        var fetches = 0
    }

    /// Where the key set is.
    let url: String
    private let state: Mutex<State>

    private init(url: String, _ document: String?) {
        self.url = url
        state = Mutex(State(document: document))
    }

    /// How often it was asked.
    var fetches: Int { state.withLock { $0.fetches } }

    /// Serves this from now on; hangs up on everybody while it is nil.
    func serve(_ document: String?) {
        state.withLock { $0.document = document }
    }

    /// Runs the body beside such a server on the loopback interface.
    static func serving(
        _ document: String?, _ body: @escaping @Sendable (KeySetServer) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let listener = try Listener(at: #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
            let keys = KeySetServer(url: "http://\(listener.address)/keys?version=1", document)
            let server = HTTP.Server(
                configuration: .prompt, refusal: { Response($0.status) },
                handler: { request, _ in keys.reply(to: request) })
            try await server.listen(to: listener, on: [loop])
            let result: Result<Void, any Error>
            do { result = .success(try await body(keys)) } catch { result = .failure(error) }
            await server.drain(loops: [loop], within: .seconds(1))
            try result.get()
        }
    }

    private func reply(to request: Request) -> Reply {
        let document = state.withLock { state in
            state.fetches += 1
            return state.document
        }
        guard request.method == .get, "\(request.target)" == "/keys?version=1" else {
            return .response(Response(.notFound))
        }
        guard let document else { return .raw([]) }
        return .response(Response(.ok, headers: ["content-type": "application/json"], body: Array(document.utf8)))
    }
}

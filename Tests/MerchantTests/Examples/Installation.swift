import AppLoop
import Foundation
import FoundationNetworking
import MerchantServer
import SoftwareAuthenticator
import Synchronization
import Testing

/// The example app on one user's phone: what is built anew at each start, and the folder that outlives it.
struct Installation {
    let harness: TestHarness
    let folder = FileManager.default.temporaryDirectory.appending(path: "app-loop-\(UUID().uuidString)")
    let pauses = Pauses()

    /// The fault between a request and its answer.
    typealias Line = @Sendable (URLRequest, MerchantAPI.Exchange) async throws -> (Data, URLResponse)

    /// The client as the app builds it, with a way to the server on which a test may do harm.
    func api(
        fate: Fate = Fate(), token: (@Sendable (String?) async throws -> String)? = nil, line: Line? = nil
    ) async throws -> MerchantAPI {
        let bearer = try #require(try await harness.app(of: "ana").token)
        let network = MerchantAPI.overNetwork()
        return MerchantAPI(
            base: try #require(URL(string: "http://\(harness.addresses.api)/")), token: token ?? { _ in bearer },
            exchange: { request in
                try fate.step()
                let answer = if let line { try await line(request, network) } else { try await network(request) }
                try fate.step()
                return answer
            },
            sleep: { [pauses, harness] pause in
                // The server counts the seconds for which it asked for patience.
                harness.clock.advance(by: pause)
                try await pauses.take(pause)
            })
    }

    /// The app starts.
    func runner(_ api: MerchantAPI, on handset: Handset) throws -> RequestRunner {
        RequestRunner(api: api, device: handset, notebook: try Notebook(folder: folder))
    }

    var pendingRequests: [PendingRequest] {
        get throws { try Notebook(folder: folder).pendingRequests() }
    }

    func remove() throws { try FileManager.default.removeItem(at: folder) }
}

/// The pauses that the app makes, remembered as it wanted them and made short: its clock runs fast.
final class Pauses: Sendable {
    private let wanted = Mutex<[Duration]>([])

    var all: [Duration] { wanted.withLock { $0 } }

    func take(_ pause: Duration) async throws {
        wanted.withLock { $0.append(pause) }
        // This is the pause of the app itself.
        try await Task.sleep(for: min(pause, .milliseconds(20)))
    }
}

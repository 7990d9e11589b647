import Foundation
import FoundationNetworking
import HTTP
import MerchantServer
import SoftwareAuthenticator
import Testing

@testable import ExamplePix

/// The example app on one user's phone: what is built anew at each start, and the notebook that outlives it.
@MainActor final class Installation {
    let harness: TestHarness
    let notebook = FileManager.default.temporaryDirectory.appending(path: "pix-\(UUID().uuidString).json")
    /// The pauses that the app made, as it wanted them.
    private(set) var pauses: [Duration] = []

    /// A way to the server, on which a test may do harm.
    typealias Line = @MainActor (URLRequest) async throws -> (Data, URLResponse)

    init(_ harness: TestHarness) {
        self.harness = harness
    }

    /// The app starts.
    func pix(
        on handset: Handset, fate: Fate = Fate(), token: (@MainActor (String?) async throws -> String)? = nil,
        line: @escaping Line = Installation.network
    ) async throws -> Pix {
        let bearer = try #require(try await harness.app(of: "ana").token)
        return Pix(
            api: harness.origin, token: token ?? { _ in bearer }, device: handset, notebook: notebook,
            network: { request in
                try fate.step()
                let answer = try await line(request)
                try fate.step()
                return answer
            },
            sleep: { [self] pause in
                try fate.step()
                pauses.append(pause)
                // The server counts the seconds for which it asked for patience.
                harness.clock.advance(by: pause)
                // This is the pause of the app itself, whose clock runs fast.
                try await Task.sleep(for: min(pause, .milliseconds(20)))
            })
    }

    /// The app starts on a phone whose user is Belvo's customer already.
    func pixOfCustomer(on handset: Handset) async throws -> Pix {
        let pix = try await pix(on: handset)
        _ = try await pix.introduce(["name": "Ana Souza", "identifier": "529.982.247-25"])
        return pix
    }

    /// The page of the notebook: a request that has not ended.
    var note: [String: Any]? {
        get throws {
            guard FileManager.default.fileExists(atPath: notebook.path) else { return nil }
            return try Dictionary(Data(contentsOf: notebook))
        }
    }

    /// The shop's backend places an order.
    func placeOrder(_ reference: String) async throws {
        let order = #"{"subject": "ana", "amount": "19.90", "description": "Two coffees"}"#
        let shop = App(client: harness.client, token: Self.shopToken)
        #expect(try await shop.send(.put, "/orders/\(reference)", order).status == 201)
    }

    static let shopToken = "shop-token-of-the-tests"

    /// No connection outlives its request: the server would wait for its end when it drains.
    static let network: Line = { request in
        var request = request
        request.setValue("close", forHTTPHeaderField: "Connection")
        return try await URLSession.shared.data(for: request)
    }
}

import HTTP
import Transport

/// The question of a load balancer, asked from beside the server: for health checks of containers without a shell.
package enum ReadyCheck {
    /// How long the server may take to answer.
    static let deadline = Duration.seconds(3)

    /// The answer of `/readyz` on the `ADMIN_LISTEN` of these settings, and whether it is yes.
    package static func ask(_ settings: Settings) async throws -> (isReady: Bool, text: String) {
        // The wildcard address, as a destination, is this machine.
        guard let url = URL("http://\(settings.adminListen)/") else { preconditionFailure("an address makes a URL") }
        let response = try await Client(origin: url.origin).send(Request(.get, "/readyz"), deadline: deadline)
        return (response.status == .ok, String(decoding: response.body, as: UTF8.self))
    }
}

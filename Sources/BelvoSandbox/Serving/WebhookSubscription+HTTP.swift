import HTTP
import Transport

extension WebhookSubscription {
    /// Delivers over HTTP from the loop of the calling task, with the 5 s that Belvo gives (belvo-api.md §8).
    ///
    /// - Parameter authorities: trusts these certificates (PEM) beside the system's.
    public static func overHTTP(
        to url: URL, token: String?, authorities: String? = nil
    ) throws(StreamError) -> WebhookSubscription {
        let tls = url.origin.scheme == .https ? try TLSContext.client(extraAuthorities: authorities) : nil
        let client = Client(origin: url.origin, tls: tls)
        return WebhookSubscription(url: url, token: token) { request in
            // No answer, for whatever reason, is what the retries are for.
            try? await client.send(request, deadline: .seconds(5)).status
        }
    }
}

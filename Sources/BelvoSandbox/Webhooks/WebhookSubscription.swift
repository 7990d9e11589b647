import HTTP

/// A URL that gets every event, as registered in Belvo's dashboard (belvo-api.md §8).
public struct WebhookSubscription: Sendable {
    /// Absolute, http or https.
    public var url: URL
    /// The bearer token; nil sends no `Authorization`.
    public var token: String?
    /// Delivers one webhook and answers the status; nil when there was none within 5 s.
    public var send: @Sendable (Request) async -> Status?

    public init(url: URL, token: String?, send: @escaping @Sendable (Request) async -> Status?) {
        self.url = url
        self.token = token
        self.send = send
    }
}

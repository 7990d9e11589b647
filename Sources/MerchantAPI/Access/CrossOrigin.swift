import HTTP

/// The web pages of other origins that may call the API (`CORS_ORIGINS`), by the CORS protocol (the Fetch standard,
/// "HTTP extensions", read 2026-11-21).
///
/// It is for the apps' paths alone: what banks, Belvo, the shop and operators call is no page's business. Cookies play
/// no part, since a page shows its token in a header, so credentials in the protocol's sense are not allowed.
package struct CrossOrigin: Sendable {
    private let origins: Set<String>

    package init(_ origins: Set<URL.Origin>) {
        self.origins = Set(origins.map(\.description))
    }

    /// The answer to a page's question whether it may send a request: nil where none was asked, or not by one of ours.
    func preflight(_ request: Request, methods: [String]) -> Response? {
        guard request.method == .options, request.headers.contains("access-control-request-method"),
            isCovered(request), allowedOrigin(of: request) != nil
        else { return nil }
        // The browser compares what it was about to send with this; there is nothing to decide here.
        return Response(
            .noContent,
            headers: [
                "access-control-allow-methods": methods.joined(separator: ", "),
                "access-control-allow-headers": CrossOrigin.requestFields,
                "access-control-max-age": "\(CrossOrigin.preflightSeconds)",
            ])
    }

    /// The headers that any answer to the request gets, so that the page that asked may read it if it is one of
    /// ours; nil where pages play no part.
    func sharing(with request: Request) -> Sharing? {
        guard !origins.isEmpty, isCovered(request) else { return nil }
        // No operation is called OPTIONS: to that, the answer is about another request.
        return Sharing(origin: allowedOrigin(of: request), exposes: request.method != .options)
    }

    /// The fields that let a page read an answer.
    struct Sharing: Sendable {
        fileprivate let origin: String?
        fileprivate let exposes: Bool

        func apply(to response: inout Response) {
            // Also where no header is sent: a cache must not give their answer to a page that may read it.
            response.headers.append("vary", "origin")
            guard let origin else { return }
            response.headers.append("access-control-allow-origin", origin)
            if exposes { response.headers.append("access-control-expose-headers", CrossOrigin.responseFields) }
        }
    }

    /// The one origin that the request names, where it is allowed. Browsers write it in lower case and without the
    /// scheme's own port, as `URL.Origin` does.
    private func allowedOrigin(of request: Request) -> String? {
        let named = request.headers.values("origin")
        guard named.count == 1, origins.contains(named[0]) else { return nil }
        return named[0]
    }

    private func isCovered(_ request: Request) -> Bool {
        let path = request.target.path
        return path.hasPrefix("/v1/") || path == "/v1"
    }

    /// The request headers that an app may send beside those of every page.
    private static let requestFields =
        "authorization, content-type, idempotency-key, if-none-match, x-device-id, x-request-id, traceparent"
    /// The response headers that an app may read beside those of every page.
    fileprivate static let responseFields =
        "etag, idempotent-replayed, location, retry-after, www-authenticate, x-request-id"
    /// How long a browser need not ask again: one payment from begin to end. An origin that is struck off the list may
    /// go on sending for as long, though it reads no answer any more.
    private static let preflightSeconds = 600
}

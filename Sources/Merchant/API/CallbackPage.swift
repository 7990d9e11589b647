import FoundationEssentials
import HTTP
import Payments

/// The page on which a user lands behind the bank: small, self-contained, and without anything secret in it.
///
/// What it says is in `PageLanguage`, how it looks in `CallbackPage+Markup`, what it does by itself in
/// `CallbackPage+Script`.
struct CallbackPage: Sendable {
    /// Opens the app: a custom scheme, or an address of another host. Nothing where there is no app to open.
    let appLink: String?
    /// Between two looks of a page that waits, at first.
    let pollInterval: Duration

    /// What the page has to say.
    enum State: Sendable, Equatable {
        /// The parameters may be in the fragment.
        case collecting
        /// The redirect is on its way, or nobody knows yet what became of it.
        case working
        /// The bank has confirmed, and the app goes on.
        case approved
        case succeeded
        case failed
        /// The redirect had been dealt with before; what became of it.
        case used(Standing)
        /// The parameters are none that a bank sends.
        case unreadable
        /// The ticket is older than a user may take, or the redirect came when its enrollment needed none.
        case expired
        /// The redirect could not be stored; the page brings it again.
        case unavailable
    }

    /// How far an enrollment has come whose redirect counts no more.
    enum Standing: Sendable, Equatable {
        case approved, succeeded, failed
    }

    /// What stands on one page.
    struct Content: Sendable {
        let state: State
        /// The app's link, with the enrollment in it where that is known.
        let link: String?
        /// Where the page asks how the redirect stands, without the redirect's own parameters.
        let ticket: String?
        /// Until the page may ask again; nothing when it has no reason to.
        let pause: Duration?
    }

    /// A page without a redirect behind it.
    func response(_ status: HTTP.Status, _ state: State, for inbound: Inbound) -> Response {
        respond(status, Content(state: state, link: appLink, ticket: nil, pause: nil), inbound)
    }

    /// The page of a redirect.
    func response(_ status: HTTP.Status, _ landing: Landing, ticket: String, for inbound: Inbound) -> Response {
        let state = State(landing)
        // A redirect that Belvo refused, or never saw, proves nothing about the enrollment that its `state` names.
        let provesNothing = landing.receipt.outcome == .refused || landing.receipt.outcome == .expired
        let enrollment = provesNothing ? nil : landing.enrollment
        let content = Content(
            state: state, link: enrollment.flatMap(link) ?? appLink, ticket: ticket,
            pause: state == .working || state == .approved ? pollInterval : nil)
        return respond(status, content, inbound, opensApp: enrollment != nil && state.isForApp)
    }

    /// The page in the language that the browser asks for.
    private func respond(
        _ status: HTTP.Status, _ content: Content, _ inbound: Inbound, opensApp: Bool = false
    ) -> Response {
        let language = PageLanguage(accepting: inbound.request.headers["accept-language"] ?? "")
        let nonce = Base64URL.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
        let policy = [
            "default-src 'none'", "style-src 'nonce-\(nonce)'", "script-src 'nonce-\(nonce)'", "img-src data:",
            "connect-src \(content.pause == nil ? "'none'" : "'self'")",
            "form-action \(content.state == .collecting ? "'self'" : "'none'")", "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
        return Response(
            status,
            headers: [
                "content-type": "text/html; charset=utf-8", "cache-control": "no-store",
                "referrer-policy": "no-referrer", "content-security-policy": policy.joined(separator: "; "),
                "x-content-type-options": "nosniff", "content-language": language.tag, "vary": "accept-language",
            ],
            body: Array(html(content, language, nonce: nonce, opensApp: opensApp && content.link != nil).utf8))
    }

    /// The app's link with our id and the status: nothing that the parameters did not prove already.
    private func link(to enrollment: Enrollment) -> String? {
        appLink.map { link in
            let separator = link.contains("?") ? "&" : "?"
            return "\(link)\(separator)enrollment=\(enrollment.id)&status=\(enrollment.status.rawValue)"
        }
    }
}

extension CallbackPage.State {
    /// What a redirect's page says.
    init(_ landing: Landing) {
        let receipt = landing.receipt
        guard receipt.outcome != .refused else {
            self = .failed
            return
        }
        // It came too late to be passed on, so that nobody has looked at its code.
        guard receipt.outcome != .expired else {
            self = .expired
            return
        }
        guard let enrollment = landing.enrollment else {
            self = .working
            return
        }
        let isUsed = landing.isRepeat
        switch enrollment.state {
        case .creating, .atBank, .completing, .observed: self = .working
        // That the bank confirmed is Belvo's word, and of this redirect it has not come.
        case .awaitingOptions where receipt.outcome != .taken: self = .working
        case .awaitingOptions, .awaitingFingerprint, .confirming: self = isUsed ? .used(.approved) : .approved
        case .succeeded: self = isUsed ? .used(.succeeded) : .succeeded
        case .failed: self = isUsed ? .used(.failed) : .failed
        }
    }

    /// Whether the app should go on by itself. Whoever opens an old address finds a button.
    fileprivate var isForApp: Bool {
        switch self {
        case .approved, .succeeded, .failed: true
        case .collecting, .working, .used, .unreadable, .expired, .unavailable: false
        }
    }
}

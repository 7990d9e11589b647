import FoundationEssentials
import HTTP
import JSON
import MerchantStore
import MerchantWorkflows
import Payments

/// The page on which a user lands behind the bank: small, self-contained, and without anything secret in it.
///
/// Its texts are in `PageLanguage`, its layout in `CallbackPage+Markup`, what it does by itself in
/// `CallbackPage+Script`.
package struct CallbackPage: Sendable {
    /// Opens the app: a custom scheme, or an address of another host. Nothing where there is no app to open.
    let appLink: String?
    /// The shop's page for who enrolls in a browser. Nothing where the merchant has named none.
    var webLink: String? = nil
    /// Between two requests of a page that waits, at first.
    let pollInterval: Duration

    package init(appLink: String?, webLink: String? = nil, pollInterval: Duration) {
        self.appLink = appLink
        self.webLink = webLink
        self.pollInterval = pollInterval
    }

    /// The state that the page shows.
    enum State: Sendable, Equatable {
        /// The parameters may be in the fragment.
        case collecting
        /// The redirect is on its way, or its outcome is unknown.
        case working
        /// The bank has confirmed, and the app continues.
        case approved
        case succeeded
        case failed
        /// The redirect had been dealt with before; what became of it.
        case used(Progress)
        /// The parameters are none that a bank sends.
        case unreadable
        /// The ticket is older than a user may take, or the redirect came when its enrollment needed none.
        case expired
        /// The redirect could not be stored; the page brings it again.
        case unavailable
    }

    /// The state of an enrollment whose redirect counts no more.
    enum Progress: Sendable, Equatable {
        case approved, succeeded, failed
    }

    /// Where a user continues: on a phone in the app, in a browser on the shop's own page.
    enum Home: Sendable {
        case app, shop
    }

    /// The texts of one page.
    struct Content: Sendable {
        let state: State
        let home: Home
        /// The address of that home, with the enrollment in it where that is known.
        let link: String?
        /// Where the page asks how the redirect stands, without the redirect's own parameters.
        let ticket: String?
        /// Until the page may ask again; nothing when it has no reason to.
        let pause: Duration?
    }

    /// A page without a redirect behind it.
    func response(_ status: HTTP.Status, _ state: State, for inbound: Inbound) -> Response {
        respond(status, Content(state: state, home: home, link: link(home), ticket: nil, pause: nil), inbound)
    }

    /// The page of a redirect.
    func response(_ status: HTTP.Status, _ callback: CallbackResult, ticket: String, for inbound: Inbound) -> Response {
        let state = State(callback)
        let enrollment = callback.isProven ? callback.enrollment : nil
        let home = enrollment.map { $0.platform == .browser ? Home.shop : .app } ?? home
        let content = Content(
            state: state, home: home, link: enrollment.flatMap { link(home, for: $0) } ?? link(home), ticket: ticket,
            pause: state == .working || state == .approved ? pollInterval : nil)
        return respond(status, content, inbound, goesOn: enrollment != nil && state.goesOn)
    }

    /// Where users continue whose enrollment is not known.
    private var home: Home { appLink == nil && webLink != nil ? .shop : .app }

    /// The page in the language that the browser asks for.
    private func respond(
        _ status: HTTP.Status, _ content: Content, _ inbound: Inbound, goesOn: Bool = false
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
            body: Array(html(content, language, nonce: nonce, goesOn: goesOn && content.link != nil).utf8))
    }

    private func link(_ home: Home) -> String? {
        switch home {
        case .app: appLink
        case .shop: webLink
        }
    }

    /// The same with our id and the status: nothing that the parameters did not prove already.
    private func link(_ home: Home, for enrollment: Enrollment) -> String? {
        link(home).map { link in
            let separator = link.contains("?") ? "&" : "?"
            return "\(link)\(separator)enrollment=\(enrollment.id)&status=\(enrollment.status.rawValue)"
        }
    }
}

extension CallbackPage.State {
    /// The page for a redirect.
    init(_ callback: CallbackResult) {
        let receipt = callback.receipt
        guard receipt.outcome != .refused else {
            self = .failed
            return
        }
        // It came too late to be passed on, so Belvo has not checked its code.
        guard receipt.outcome != .expired else {
            self = .expired
            return
        }
        // What is shown below is the enrollment's, and not for a person who has only found its `state`.
        guard callback.isProven, let enrollment = callback.enrollment else {
            self = .working
            return
        }
        let isUsed = callback.isRepeat
        switch enrollment.state {
        case .creating, .atBank, .completing, .foreign: self = .working
        case .awaitingOptions, .awaitingFingerprint, .confirming: self = isUsed ? .used(.approved) : .approved
        case .succeeded: self = isUsed ? .used(.succeeded) : .succeeded
        case .failed: self = isUsed ? .used(.failed) : .failed
        }
    }

    /// Whether nothing is left to be done or awaited on this page.
    var isDone: Bool {
        switch self {
        case .approved, .succeeded, .failed, .used, .expired: true
        case .collecting, .working, .unreadable, .unavailable: false
        }
    }

    /// Whether the page should open the app by itself. An old address shows a button.
    fileprivate var goesOn: Bool {
        switch self {
        case .approved, .succeeded, .failed: true
        case .collecting, .working, .used, .unreadable, .expired, .unavailable: false
        }
    }
}

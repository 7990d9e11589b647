import FoundationEssentials
import HTTP
import Payments

/// The page on which a user lands behind the bank: plain, self-contained, and without anything secret in it.
struct CallbackPage: Sendable {
    /// Opens the app: a custom scheme, or an address of another host. Nothing where there is no app to open.
    let appLink: String?

    /// What the page has to say.
    enum State: Sendable {
        /// The parameters may be in the fragment.
        case collecting
        case working
        case approved
        case succeeded
        case failed
        /// The parameters are none that a bank sends.
        case unreadable

        static func of(_ enrollment: Enrollment) -> State {
            switch enrollment.state {
            case .succeeded: .succeeded
            case .failed: .failed
            case .awaitingOptions, .awaitingFingerprint, .confirming: .approved
            case .creating, .atBank, .completing: .working
            }
        }
    }

    /// The page in the language that the browser asks for.
    func response(
        _ status: HTTP.Status, _ state: State, for inbound: Inbound, enrollment: Enrollment? = nil
    ) -> Response {
        let language = PageLanguage(accepting: inbound.request.headers["accept-language"] ?? "")
        let text = language.text(state)
        let nonce = Base64URL.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
        var policy = "default-src 'none'; style-src 'nonce-\(nonce)'; form-action 'self'; base-uri 'none'"
        policy += "; frame-ancestors 'none'"
        if case .collecting = state { policy += "; script-src 'nonce-\(nonce)'" }
        return Response(
            status,
            headers: [
                "content-type": "text/html; charset=utf-8", "cache-control": "no-store",
                "referrer-policy": "no-referrer", "content-security-policy": policy,
                "x-content-type-options": "nosniff", "content-language": language.tag, "vary": "accept-language",
            ],
            body: Array(
                html(text, language, nonce: nonce, link: link(to: enrollment, state), collects: state.collects).utf8))
    }

    private func html(
        _ text: PageText, _ language: PageLanguage, nonce: String, link: String?, collects: Bool
    ) -> String {
        let button = link.map { "<p><a class=\"button\" href=\"\($0.escapedForHTML)\">\(language.openApp)</a></p>" }
        return """
            <!DOCTYPE html>
            <html lang="\(language.tag)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <title>\(text.title)</title>
            <style nonce="\(nonce)">
            :root { color-scheme: light dark }
            body { font: 1.125rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 0 auto; padding: 2rem 1.25rem }
            .button { display: block; padding: .9rem 1rem; border-radius: .6rem; text-align: center; \
            background: #0a5f4e; color: #fff; text-decoration: none; font-weight: 600 }
            footer { margin-top: 2.5rem; font-size: .875rem }
            </style>
            </head>
            <body>
            <main>
            <h1>\(text.title)</h1>
            <p>\(text.body)</p>
            \(button ?? "")
            </main>
            <footer>\(language.notice)</footer>
            \(collects ? collector(nonce) : "")
            </body>
            </html>
            """
    }

    /// Posts what a bank put into the fragment, which browsers do not send, and takes it out of the address first.
    private func collector(_ nonce: String) -> String {
        """
        <form method="post" action="/enrollments/callback" hidden></form>
        <script nonce="\(nonce)">
        const fields = new URLSearchParams(location.hash.slice(1));
        history.replaceState(null, "", location.pathname);
        if (fields.get("state")) {
          const form = document.forms[0];
          for (const [name, value] of fields) {
            const input = document.createElement("input");
            input.type = "hidden"; input.name = name; input.value = value;
            form.append(input);
          }
          form.submit();
        }
        </script>
        """
    }

    /// The app's link with our id and the status: nothing that the parameters did not prove already.
    private func link(to enrollment: Enrollment?, _ state: State) -> String? {
        guard let appLink else { return nil }
        guard let enrollment else { return appLink }
        let separator = appLink.contains("?") ? "&" : "?"
        return "\(appLink)\(separator)enrollment=\(enrollment.id)&status=\(enrollment.status.rawValue)"
    }
}

extension CallbackPage.State {
    fileprivate var collects: Bool {
        if case .collecting = self { true } else { false }
    }
}

extension String {
    /// Fit to stand in an attribute or a text of an HTML page.
    fileprivate var escapedForHTML: String {
        var escaped = ""
        for character in self {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}

import Transport

extension CallbackPage {
    /// The whole document. Nothing in it comes from the request but what is our own: ids, states, the ticket.
    func html(_ content: Content, _ language: PageLanguage, nonce: String, goesOn: Bool) -> String {
        let state = content.state
        let text = language.text(state, content.home)
        return """
            <!DOCTYPE html>
            <html lang="\(language.tag)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
            <meta name="robots" content="noindex">
            <meta name="color-scheme" content="light dark">
            <meta name="format-detection" content="telephone=no">
            <title>\(text.title)</title>
            <link rel="icon" href="\(Sign.icon)">
            \(refresh(content))
            <style nonce="\(nonce)">
            \(CallbackPage.style)
            </style>
            <noscript><style nonce="\(nonce)">.scripted { display: none }</style></noscript>
            </head>
            <body>
            <main data-state="\(state.name)"\(attributes(content, goesOn: goesOn))>
            <div role="status">
            \(state == .collecting ? awaited(language, content.home) : said(state, text))
            </div>
            \(content.link.map { button($0, language.goOn(content.home)) } ?? "")
            <p class="hint">\(language.hint(state, content.home, hasLink: content.link != nil, goesOn: goesOn))</p>
            </main>
            <footer><p>\(language.notice)</p></footer>
            \(state == .collecting ? collecting(language, content.home) : "")
            <script nonce="\(nonce)">
            \(state == .collecting ? CallbackPage.collector : CallbackPage.updater)
            </script>
            </body>
            </html>
            """
    }

    private func button(_ link: String, _ label: String) -> String {
        "<a class=\"button\" href=\"\(link.escapedForHTML)\">\(label)</a>"
    }

    /// The data for the page's script.
    private func attributes(_ content: Content, goesOn: Bool) -> String {
        var attributes = ""
        switch content.state {
        case .unreadable: attributes += " data-address"
        case .used: attributes += " data-used"
        default: break
        }
        if let ticket = content.ticket { attributes += " data-address=\"?ticket=\(ticket)\"" }
        if let pause = content.pause { attributes += " data-every=\"\(pause.wholeMilliseconds)\"" }
        if goesOn { attributes += " data-opens" }
        return attributes
    }

    /// Without a script the browser itself asks again while there is something to wait for.
    private func refresh(_ content: Content) -> String {
        if content.state == .unavailable { return #"<meta http-equiv="refresh" content="5">"# }
        guard content.state == .working, let ticket = content.ticket, let pause = content.pause else { return "" }
        let seconds = max(1, (pause.wholeMilliseconds + 999) / 1_000)
        return """
            <noscript><meta http-equiv="refresh" content="\(seconds); url=?ticket=\(ticket)"></noscript>
            """
    }

    /// The sign, the heading and the sentence of a state.
    private func said(_ state: State, _ text: PageText) -> String {
        """
        \(Sign.svg(state))
        <h1>\(text.title)</h1>
        <p>\(text.body)</p>
        """
    }

    /// The texts while the script reads the fragment, and without a script.
    private func awaited(_ language: PageLanguage, _ home: Home) -> String {
        """
        <div class="scripted">
        \(said(.collecting, language.text(.collecting, home)))
        </div>
        <noscript>
        \(said(.unreadable, PageText(language.text(.unreadable, home).title, language.needsScript(home))))
        </noscript>
        """
    }

    /// The form for what the fragment held, and what to say when it held nothing.
    private func collecting(_ language: PageLanguage, _ home: Home) -> String {
        let text = language.text(.unreadable, home)
        return """
            <form method="post" action="/enrollments/callback" hidden></form>
            <template data-state="\(State.unreadable.name)" data-title="\(text.title)">
            \(said(.unreadable, text))
            </template>
            """
    }
}

extension CallbackPage.State {
    /// The state's name in the page's markup.
    var name: String {
        switch self {
        case .collecting: "collecting"
        case .working: "working"
        case .approved: "approved"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .used: "used"
        case .unreadable: "unreadable"
        case .expired: "expired"
        case .unavailable: "unavailable"
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 { wholeNanoseconds / 1_000_000 }
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

import HTTP

/// The mock bank's page, in Portuguese as a bank in Brazil writes it. Plain HTML, no script.
enum BankPage {
    static let path = "/bank/authorize"

    /// The `redirect_url` of an enrollment: with everything to be read, or hidden behind a handle.
    static func address(_ redirection: Enrollment.Redirection, callbackURL: String, in state: SandboxState) -> String {
        let fields: [(name: String, value: String)] =
            switch state.variants.redirect {
            case .openState:
                [
                    ("client_id", "belvo"), ("response_type", "code id_token"), ("scope", "openid payments"),
                    ("redirect_uri", callbackURL), ("state", redirection.state), ("nonce", redirection.nonce),
                ]
            case .pushedAuthorization:
                [("client_id", "belvo"), ("request_uri", redirection.requestURI)]
            }
        return "\(state.configuration.publicURL)\(path)?\(FormFields(fields).encoded)"
    }

    /// The question, with its two buttons.
    static func question(_ enrollment: Enrollment, bank: String, customer: String) -> String {
        page(
            title: "Autorizar Pix por biometria",
            """
            <p>Olá, <strong>\(Page.escaped(customer))</strong>.</p>
            <p>A <strong>Belvo</strong>, iniciadora de pagamentos, pede para vincular este aparelho à sua conta
            no <strong>\(Page.escaped(bank))</strong>. Depois disso, cada Pix será confirmado pela sua
            biometria, sem sair da loja.</p>
            <dl><dt>Conta</dt><dd>Agência 1234 · Conta *****6789</dd>
            <dt>Aparelho</dt><dd>\(Page.escaped(enrollment.name ?? enrollment.platform))</dd></dl>
            <form method="post" action="\(path)">
            <input type="hidden" name="request_uri" value="\(Page.escaped(enrollment.redirection.requestURI))">
            <button name="decision" value="approve">Autorizar</button>
            <button name="decision" value="refuse" class="plain">Recusar</button>
            </form>
            """)
    }

    /// Where there is nothing to decide.
    static func notice(_ text: String) -> String {
        page(title: "Banco de demonstração", "<p>\(Page.escaped(text))</p>")
    }

    private static func page(title: String, _ content: String) -> String {
        """
        <!doctype html>
        <html lang="pt-BR"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title)</title>
        <style>
        body{font:1.05rem/1.5 system-ui,sans-serif;margin:0;background:#f3f4f7;color:#1c2230}
        main{max-width:26rem;margin:8vh auto;padding:2rem;background:#fff;border-radius:1rem;
        box-shadow:0 4px 24px #0002}
        h1{font-size:1.3rem;margin:0 0 1rem}dt{color:#667;font-size:.85rem}dd{margin:0 0 .7rem}
        button{font:inherit;width:100%;padding:.8rem;margin-top:.6rem;border-radius:.6rem;border:1px solid #0a6b4f;
        background:#0a6b4f;color:#fff;cursor:pointer}button.plain{background:#fff;color:#0a6b4f}
        small{color:#667}
        </style></head><body><main><h1>\(title)</h1>
        \(content)
        <p><small>Ambiente de demonstração: nenhum dinheiro é movimentado.</small></p>
        </main></body></html>

        """
    }
}

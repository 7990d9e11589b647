/// The languages of the pages that users see.
enum PageLanguage: Sendable {
    case portuguese, english, spanish

    /// The one that the browser prefers among ours (RFC 9110 §12.5.4); Portuguese when it prefers none.
    init(accepting header: String) {
        var best: (language: PageLanguage, weight: Double)?
        for range in header.split(separator: ",").prefix(20) {
            let parts = range.split(separator: ";")
            guard let tag = parts.first?.filter({ $0 != " " }).lowercased() else { continue }
            let weight =
                parts.dropFirst().compactMap { parameter in
                    let text = parameter.filter { $0 != " " }
                    return text.hasPrefix("q=") ? Double(text.dropFirst(2)) : nil
                }.first ?? 1
            guard let language = PageLanguage(tag: tag), weight > best?.weight ?? 0 else { continue }
            best = (language, weight)
        }
        self = best?.language ?? .portuguese
    }

    private init?(tag: String) {
        switch tag.prefix(2) {
        case "pt": self = .portuguese
        case "en": self = .english
        case "es": self = .spanish
        default: return nil
        }
    }

    var tag: String {
        switch self {
        case .portuguese: "pt-BR"
        case .english: "en"
        case .spanish: "es"
        }
    }

    /// The button's label.
    func goOn(_ home: CallbackPage.Home) -> String {
        switch (self, home) {
        case (.portuguese, .app): "Voltar ao aplicativo"
        case (.portuguese, .shop): "Voltar à loja"
        case (.english, .app): "Back to the app"
        case (.english, .shop): "Back to the shop"
        case (.spanish, .app): "Volver a la aplicación"
        case (.spanish, .shop): "Volver a la tienda"
        }
    }

    /// The regulation asks the merchant to say that it is not the regulated payment institution, and who initiates
    /// the payments (belvo-api.md §10: Resolução Conjunta nº 17).
    var notice: String {
        switch self {
        case .portuguese:
            "Pagamentos iniciados pela Belvo, a instituição regulada (iniciadora de transação de pagamento). "
                + "A loja não é uma instituição de pagamento regulada."
        case .english:
            "Payments are initiated by Belvo, the regulated institution (payment initiation service provider). "
                + "The shop is not a regulated payment institution."
        case .spanish:
            "Pagos iniciados por Belvo, la institución regulada (iniciador de transacciones de pago). "
                + "La tienda no es una institución de pago regulada."
        }
    }

    /// The note below a page's button, or in its place.
    func hint(_ state: CallbackPage.State, _ home: CallbackPage.Home, hasLink: Bool, goesOn: Bool) -> String {
        if state == .working {
            return switch self {
            case .portuguese: "Esta página se atualiza sozinha."
            case .english: "This page updates by itself."
            case .spanish: "Esta página se actualiza sola."
            }
        }
        if home == .shop, !hasLink, state.isDone {
            return switch self {
            case .portuguese: "Você já pode fechar esta página."
            case .english: "You can close this page now."
            case .spanish: "Ya puede cerrar esta página."
            }
        }
        guard goesOn else { return "" }
        return switch (self, home) {
        case (.portuguese, .app): "Se o aplicativo não abrir sozinho, toque no botão."
        case (.portuguese, .shop): "Se a loja não abrir sozinha, use o botão."
        case (.english, .app): "If the app does not open by itself, tap the button."
        case (.english, .shop): "If the shop does not open by itself, use the button."
        case (.spanish, .app): "Si la aplicación no se abre sola, toque el botón."
        case (.spanish, .shop): "Si la tienda no se abre sola, use el botón."
        }
    }

    /// The bank's answer is in the fragment, and cannot be read without a script.
    func needsScript(_ home: CallbackPage.Home) -> String {
        switch self {
        case .portuguese:
            "O JavaScript está desligado neste navegador, e sem ele não dá para receber a resposta deste banco. "
                + "Ligue-o e recarregue a página, ou tente de novo \(there(home))."
        case .english:
            "JavaScript is off in this browser, and without it this bank's answer cannot be received. "
                + "Turn it on and reload the page, or try again \(there(home))."
        case .spanish:
            "JavaScript está desactivado en este navegador, y sin él no se puede recibir la respuesta de este banco. "
                + "Actívelo y recargue la página, o inténtelo de nuevo \(there(home))."
        }
    }

    /// Where the user continues, after a verb of rest.
    private func there(_ home: CallbackPage.Home) -> String {
        switch (self, home) {
        case (.portuguese, .app): "no aplicativo"
        case (.portuguese, .shop): "na página da loja"
        case (.english, .app): "in the app"
        case (.english, .shop): "at the shop’s page"
        case (.spanish, .app): "en la aplicación"
        case (.spanish, .shop): "en la página de la tienda"
        }
    }

    /// The same, after a verb of motion.
    private func thither(_ home: CallbackPage.Home) -> String {
        switch (self, home) {
        case (.portuguese, .app): "ao aplicativo"
        case (.portuguese, .shop): "à página da loja"
        case (.english, .app): "to the app"
        case (.english, .shop): "to the shop’s page"
        case (.spanish, .app): "a la aplicación"
        case (.spanish, .shop): "a la página de la tienda"
        }
    }

    func text(_ state: CallbackPage.State, _ home: CallbackPage.Home) -> PageText {
        switch self {
        case .portuguese: portuguese(state, there(home), thither(home))
        case .english: english(state, home)
        case .spanish: spanish(state, there(home), thither(home))
        }
    }

    private func portuguese(_ state: CallbackPage.State, _ there: String, _ thither: String) -> PageText {
        switch state {
        case .collecting: PageText("Estamos concluindo", "Recebendo a resposta do seu banco.")
        case .working: PageText("Estamos concluindo", "Seu banco já respondeu. O cadastro continua \(there).")
        case .approved: PageText("Banco confirmado", "Agora volte \(thither) para cadastrar a sua biometria.")
        case .succeeded: PageText("Tudo pronto", "O seu aparelho já pode pagar com biometria.")
        case .failed: PageText("Não foi possível concluir", "Nada foi cobrado. Tente de novo \(there).")
        case .used(.approved):
            PageText("Este link já foi usado", "O seu banco já confirmou. Continue \(there).")
        case .used(.succeeded):
            PageText("Este link já foi usado", "O seu aparelho já pode pagar com biometria. Continue \(there).")
        case .used(.failed):
            PageText(
                "Este link já foi usado",
                "O cadastro não foi concluído, e nada foi cobrado. Tente de novo \(there).")
        case .unreadable:
            PageText("Endereço incompleto", "Faltam dados que o banco deveria enviar. Tente de novo \(there).")
        case .expired:
            PageText("Esta página expirou", "Ela vale só por alguns minutos. Veja \(there) como ficou o cadastro.")
        case .unavailable:
            PageText(
                "Só um momento",
                "Ainda não conseguimos guardar a resposta do seu banco. Deixe esta página aberta: "
                    + "ela tenta de novo sozinha.")
        }
    }

    private func english(_ state: CallbackPage.State, _ home: CallbackPage.Home) -> PageText {
        let (there, thither) = (self.there(home), self.thither(home))
        let shower = home == .app ? "The app" : "The shop’s page"
        return switch state {
        case .collecting: PageText("Almost there", "Receiving your bank’s answer.")
        case .working: PageText("Almost there", "Your bank has answered. The registration goes on \(there).")
        case .approved: PageText("Bank confirmed", "Now go back \(thither) to register your fingerprint or face.")
        case .succeeded: PageText("All done", "Your device can now pay with biometrics.")
        case .failed: PageText("This did not work", "Nothing was charged. Please try again \(there).")
        case .used(.approved):
            PageText("This link was already used", "Your bank has confirmed. Please go on \(there).")
        case .used(.succeeded):
            PageText("This link was already used", "Your device can pay with biometrics. Please go on \(there).")
        case .used(.failed):
            PageText(
                "This link was already used",
                "The registration did not work, and nothing was charged. Please try again \(there).")
        case .unreadable:
            PageText(
                "Incomplete address", "Something that the bank should send is missing. Please try again \(there).")
        case .expired:
            PageText(
                "This page has expired",
                "It is good for a few minutes only. \(shower) shows how your registration stands."
            )
        case .unavailable:
            PageText(
                "Just a moment",
                "We could not save your bank’s answer yet. Please keep this page open: it tries again "
                    + "by itself.")
        }
    }

    private func spanish(_ state: CallbackPage.State, _ there: String, _ thither: String) -> PageText {
        switch state {
        case .collecting: PageText("Casi listo", "Recibiendo la respuesta de su banco.")
        case .working: PageText("Casi listo", "Su banco ya respondió. El registro continúa \(there).")
        case .approved: PageText("Banco confirmado", "Ahora vuelva \(thither) para registrar su biometría.")
        case .succeeded: PageText("Todo listo", "Su dispositivo ya puede pagar con biometría.")
        case .failed: PageText("No se pudo completar", "No se cobró nada. Inténtelo de nuevo \(there).")
        case .used(.approved):
            PageText("Este enlace ya se usó", "Su banco ya confirmó. Continúe \(there).")
        case .used(.succeeded):
            PageText("Este enlace ya se usó", "Su dispositivo ya puede pagar con biometría. Continúe \(there).")
        case .used(.failed):
            PageText(
                "Este enlace ya se usó",
                "El registro no se completó y no se cobró nada. Inténtelo de nuevo \(there).")
        case .unreadable:
            PageText(
                "Dirección incompleta", "Faltan datos que el banco debía enviar. Inténtelo de nuevo \(there).")
        case .expired:
            PageText(
                "Esta página venció", "Solo vale por unos minutos. Vea \(there) cómo quedó su registro.")
        case .unavailable:
            PageText(
                "Un momento",
                "Aún no pudimos guardar la respuesta de su banco. Deje abierta esta página: "
                    + "lo intenta de nuevo sola.")
        }
    }
}

/// A page's heading and the one sentence below it.
struct PageText: Sendable {
    let title: String
    let body: String

    init(_ title: String, _ body: String) {
        self.title = title
        self.body = body
    }
}

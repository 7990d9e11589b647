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

    var openApp: String {
        switch self {
        case .portuguese: "Voltar ao aplicativo"
        case .english: "Back to the app"
        case .spanish: "Volver a la aplicación"
        }
    }

    /// The regulation asks to say who initiates the payments (belvo-api.md §10).
    var notice: String {
        switch self {
        case .portuguese: "Os pagamentos são iniciados pela Belvo, iniciadora de transação de pagamento."
        case .english: "Payments are initiated by Belvo, the payment initiation service provider."
        case .spanish: "Los pagos son iniciados por Belvo, iniciador de transacciones de pago."
        }
    }

    func text(_ state: CallbackPage.State) -> PageText {
        switch (self, state) {
        case (.portuguese, .collecting), (.portuguese, .working):
            PageText("Estamos concluindo", "Volte ao aplicativo: o cadastro continua lá.")
        case (.portuguese, .approved):
            PageText("Banco confirmado", "Volte ao aplicativo para cadastrar a sua biometria.")
        case (.portuguese, .succeeded): PageText("Tudo pronto", "O seu dispositivo já pode pagar com biometria.")
        case (.portuguese, .failed):
            PageText("Não foi possível concluir", "Volte ao aplicativo e tente de novo.")
        case (.portuguese, .unreadable):
            PageText(
                "Endereço incompleto", "O banco não enviou os dados esperados. Volte ao aplicativo e tente de novo.")
        case (.english, .collecting), (.english, .working):
            PageText("Almost there", "Go back to the app: the registration goes on there.")
        case (.english, .approved):
            PageText("Bank confirmed", "Go back to the app to register your fingerprint or face.")
        case (.english, .succeeded): PageText("All done", "Your device can now pay with biometrics.")
        case (.english, .failed): PageText("This did not work", "Go back to the app and try again.")
        case (.english, .unreadable):
            PageText("Incomplete address", "The bank did not send what was expected. Go back to the app and try again.")
        case (.spanish, .collecting), (.spanish, .working):
            PageText("Casi listo", "Vuelva a la aplicación: el registro continúa allí.")
        case (.spanish, .approved):
            PageText("Banco confirmado", "Vuelva a la aplicación para registrar su biometría.")
        case (.spanish, .succeeded): PageText("Todo listo", "Su dispositivo ya puede pagar con biometría.")
        case (.spanish, .failed): PageText("No se pudo completar", "Vuelva a la aplicación e inténtelo de nuevo.")
        case (.spanish, .unreadable):
            PageText(
                "Dirección incompleta",
                "El banco no envió los datos esperados. Vuelva a la aplicación e inténtelo de nuevo.")
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

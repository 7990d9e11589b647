/// A text for a user who may try again: a short title and a sentence, in the languages of the merchant's
/// users.
///
/// No person is blamed, no bank is named, and nothing is promised: the texts say what can be done next.
public struct RetryText: Sendable, Equatable {
    /// A few words, without a full stop.
    public let title: Wording
    /// One or two sentences.
    public let sentence: Wording

    /// The same in each language.
    public struct Wording: Sendable, Equatable {
        /// pt-BR
        public let portuguese: String
        /// en
        public let english: String
        /// es
        public let spanish: String
    }
}

extension RetryReason {
    /// The text for the app to show. `docs/retry-reasons.md` repeats it for those who write apps.
    public var text: RetryText {
        switch self {
        case .now:
            RetryText(
                title: .init(
                    portuguese: "Vamos tentar de novo?", english: "Shall we try again?",
                    spanish: "¿Lo intentamos de nuevo?"),
                sentence: .init(
                    portuguese: "Não deu para concluir desta vez. Você já pode tentar novamente.",
                    english: "It could not be completed this time. You can try again right away.",
                    spanish: "No se pudo completar esta vez. Ya puedes intentarlo de nuevo."))
        case .later:
            RetryText(
                title: .init(
                    portuguese: "Tente mais tarde", english: "Try again later", spanish: "Inténtalo más tarde"),
                sentence: .init(
                    portuguese: "Não foi possível concluir agora. Aguarde um pouco antes de tentar novamente.",
                    english: "It cannot be completed right now. Please wait a while before you try again.",
                    spanish: "No es posible completarlo ahora. Espera un poco antes de intentarlo de nuevo."))
        case .otherBank:
            RetryText(
                title: .init(
                    portuguese: "Escolha outro banco", english: "Choose another bank", spanish: "Elige otro banco"),
                sentence: .init(
                    portuguese: "No momento, este banco não aceita esta operação. Experimente com outro banco.",
                    english: "This bank does not accept this at the moment. Please try another bank.",
                    spanish: "Por ahora, este banco no acepta esta operación. Prueba con otro banco."))
        case .enrollAgain:
            RetryText(
                title: .init(
                    portuguese: "Conecte seu banco novamente", english: "Connect your bank again",
                    spanish: "Vuelve a conectar tu banco"),
                sentence: .init(
                    portuguese:
                        "A conexão com o seu banco precisa ser refeita antes do pagamento. Leva poucos minutos.",
                    english: "The connection with your bank has to be renewed before you pay. It takes a few minutes.",
                    spanish: "Hay que renovar la conexión con tu banco antes de pagar. Solo toma unos minutos."))
        case .insufficientFunds:
            RetryText(
                title: .init(
                    portuguese: "Saldo insuficiente", english: "Not enough balance", spanish: "Saldo insuficiente"),
                sentence: .init(
                    portuguese: "O saldo da conta não cobre este pagamento. Adicione saldo ou escolha outro banco.",
                    english: "The account balance does not cover this payment. Add money or choose another bank.",
                    spanish: "El saldo de la cuenta no cubre este pago. Agrega saldo o elige otro banco."))
        case .limit:
            RetryText(
                title: .init(
                    portuguese: "Valor acima do limite", english: "Amount above the limit",
                    spanish: "Monto por encima del límite"),
                sentence: .init(
                    portuguese: "O valor ultrapassa o limite do Pix da sua conta. Ajuste o limite no app do banco ou "
                        + "escolha outro banco.",
                    english:
                        "The amount is above the Pix limit of your account. Adjust the limit in your bank's app or "
                        + "choose another bank.",
                    spanish: "El monto supera el límite de Pix de tu cuenta. Ajusta el límite en la app de tu banco o "
                        + "elige otro banco."))
        case .contactBank:
            RetryText(
                title: .init(
                    portuguese: "Fale com o seu banco", english: "Contact your bank", spanish: "Contacta a tu banco"),
                sentence: .init(
                    portuguese: "O banco não autorizou esta operação e só ele pode informar o motivo. Você também "
                        + "pode escolher outro banco.",
                    english: "The bank did not authorize this, and only the bank can say why. You can also choose "
                        + "another bank.",
                    spanish: "El banco no autorizó esta operación y solo él puede informar el motivo. También puedes "
                        + "elegir otro banco."))
        }
    }

    /// When the advice is given, for those who write apps.
    public var occasion: String {
        switch self {
        case .now: "A step took too long, was given up, or did not work once: a new attempt may succeed at once."
        case .later:
            "The bank, Belvo or the merchant's account has trouble that trying again at once would not end, or "
                + "the reason is unknown."
        case .otherBank: "The bank does not accept this device or this account."
        case .enrollAgain: "The bank has the phone under another person, or has revoked the enrollment."
        case .insufficientFunds: "The account did not have enough money."
        case .limit: "The amount is above what the bank lets this account pay."
        case .contactBank: "The bank refused and gave no reason that the user could act upon."
        }
    }
}

import Foundation

/// What the user can do after a failure.
public enum RetryReason: String, Sendable, CaseIterable {
    case now, later
    case otherBank = "other_bank"
    case enrollAgain = "enroll_again"
    case insufficientFunds = "insufficient_funds"
    case limit
    case contactBank = "contact_bank"

    /// What a user is told.
    public struct Text: Sendable, Hashable {
        public let title: String
        public let sentence: String
    }

    /// The reason in the first of these languages that there are words for; in Portuguese when there is none.
    ///
    /// The texts are those of docs/retry-reasons.md.
    public func text(in languages: [String] = Locale.preferredLanguages) -> Text {
        let known = languages.lazy.map { $0.prefix(2).lowercased() }.first { ["pt", "en", "es"].contains($0) }
        return switch known {
        case "en": english
        case "es": spanish
        default: portuguese
        }
    }

    private var portuguese: Text {
        switch self {
        case .now:
            Text(
                title: "Vamos tentar de novo?",
                sentence: "Não deu para concluir desta vez. Você já pode tentar novamente.")
        case .later:
            Text(
                title: "Tente mais tarde",
                sentence: "Não foi possível concluir agora. Aguarde um pouco antes de tentar novamente.")
        case .otherBank:
            Text(
                title: "Escolha outro banco",
                sentence: "No momento, este banco não aceita esta operação. Experimente com outro banco.")
        case .enrollAgain:
            Text(
                title: "Conecte seu banco novamente",
                sentence: "A conexão com o seu banco precisa ser refeita antes do pagamento. Leva poucos minutos.")
        case .insufficientFunds:
            Text(
                title: "Saldo insuficiente",
                sentence: "O saldo da conta não cobre este pagamento. Adicione saldo ou escolha outro banco.")
        case .limit:
            Text(
                title: "Valor acima do limite",
                sentence: "O valor ultrapassa o limite do Pix da sua conta. "
                    + "Ajuste o limite no app do banco ou escolha outro banco.")
        case .contactBank:
            Text(
                title: "Fale com o seu banco",
                sentence: "O banco não autorizou esta operação e só ele pode informar o motivo. "
                    + "Você também pode escolher outro banco.")
        }
    }

    private var english: Text {
        switch self {
        case .now:
            Text(
                title: "Shall we try again?",
                sentence: "It could not be completed this time. You can try again right away.")
        case .later:
            Text(
                title: "Try again later",
                sentence: "It cannot be completed right now. Please wait a while before you try again.")
        case .otherBank:
            Text(
                title: "Choose another bank",
                sentence: "This bank does not accept this at the moment. Please try another bank.")
        case .enrollAgain:
            Text(
                title: "Connect your bank again",
                sentence: "The connection with your bank has to be renewed before you pay. It takes a few minutes.")
        case .insufficientFunds:
            Text(
                title: "Not enough balance",
                sentence: "The account balance does not cover this payment. Add money or choose another bank.")
        case .limit:
            Text(
                title: "Amount above the limit",
                sentence: "The amount is above the Pix limit of your account. "
                    + "Adjust the limit in your bank's app or choose another bank.")
        case .contactBank:
            Text(
                title: "Contact your bank",
                sentence: "The bank did not authorize this, and only the bank can say why. "
                    + "You can also choose another bank.")
        }
    }

    private var spanish: Text {
        switch self {
        case .now:
            Text(
                title: "¿Lo intentamos de nuevo?",
                sentence: "No se pudo completar esta vez. Ya puedes intentarlo de nuevo.")
        case .later:
            Text(
                title: "Inténtalo más tarde",
                sentence: "No es posible completarlo ahora. Espera un poco antes de intentarlo de nuevo.")
        case .otherBank:
            Text(
                title: "Elige otro banco",
                sentence: "Por ahora, este banco no acepta esta operación. Prueba con otro banco.")
        case .enrollAgain:
            Text(
                title: "Vuelve a conectar tu banco",
                sentence: "Hay que renovar la conexión con tu banco antes de pagar. Solo toma unos minutos.")
        case .insufficientFunds:
            Text(
                title: "Saldo insuficiente",
                sentence: "El saldo de la cuenta no cubre este pago. Agrega saldo o elige otro banco.")
        case .limit:
            Text(
                title: "Monto por encima del límite",
                sentence: "El monto supera el límite de Pix de tu cuenta. "
                    + "Ajusta el límite en la app de tu banco o elige otro banco.")
        case .contactBank:
            Text(
                title: "Contacta a tu banco",
                sentence: "El banco no autorizó esta operación y solo él puede informar el motivo. "
                    + "También puedes elegir otro banco.")
        }
    }
}

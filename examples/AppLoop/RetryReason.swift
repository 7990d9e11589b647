import Foundation

/// What the user can do after a failure.
public enum RetryReason: String, Sendable, CaseIterable {
    case now, later, limit
    case otherBank = "other_bank"
    case enrollAgain = "enroll_again"
    case insufficientFunds = "insufficient_funds"
    case contactBank = "contact_bank"

    /// The reason in the first of these languages that there are words for; in Portuguese when there is none.
    public func text(in languages: [String] = Locale.preferredLanguages) -> String {
        let known = languages.lazy.compactMap { Self.texts[String($0.prefix(2)).lowercased()] }
        return (known.first ?? Self.portuguese)[self] ?? ""
    }

    private static let texts = ["pt": portuguese, "en": english, "es": spanish]

    private static let portuguese: [RetryReason: String] = [
        .now: "Não deu certo desta vez. Tente de novo.",
        .later: "O banco não conseguiu concluir agora. Tente de novo mais tarde.",
        .limit: "O valor passa do seu limite. Aumente o limite no banco ou pague de outra forma.",
        .otherBank: "Este banco não aceita este aparelho ou esta conta. Escolha outro banco.",
        .enrollAgain: "Cadastre este aparelho no banco de novo.",
        .insufficientFunds: "Não há saldo suficiente na conta.",
        .contactBank: "O banco não autorizou. Fale com o seu banco.",
    ]
    private static let english: [RetryReason: String] = [
        .now: "This did not work. Please try again.",
        .later: "The bank could not complete this now. Please try again later.",
        .limit: "The amount is above your limit. Raise it at your bank, or pay in another way.",
        .otherBank: "This bank does not accept this device or account. Please choose another bank.",
        .enrollAgain: "Please register this device with your bank again.",
        .insufficientFunds: "There is not enough money in the account.",
        .contactBank: "Your bank did not allow this. Please contact your bank.",
    ]
    private static let spanish: [RetryReason: String] = [
        .now: "No funcionó esta vez. Inténtelo de nuevo.",
        .later: "El banco no pudo completarlo ahora. Inténtelo más tarde.",
        .limit: "El importe supera su límite. Auméntelo en su banco o pague de otra forma.",
        .otherBank: "Este banco no acepta este dispositivo o esta cuenta. Elija otro banco.",
        .enrollAgain: "Registre este dispositivo en su banco otra vez.",
        .insufficientFunds: "No hay saldo suficiente en la cuenta.",
        .contactBank: "Su banco no lo autorizó. Comuníquese con su banco.",
    ]
}

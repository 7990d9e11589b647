/// One thing that is wrong with an otherwise perfect answer.
public enum Flaw: String, CaseIterable, Sendable {
    /// Another challenge than the options' was signed.
    case challenge
    /// The client data names the other ceremony: an assertion for a registration, and the reverse.
    case type
    /// The client data names a stranger's origin.
    case origin
    /// The authenticator data is for another relying party.
    case relyingParty = "relying_party"
    /// The signature has one bit turned over.
    case signature
    /// The signature is another key's.
    case key
    /// The authenticator data says that no user touched the device.
    case userPresence = "user_presence"
    /// The authenticator data says that no user was recognized.
    case userVerification = "user_verification"
}

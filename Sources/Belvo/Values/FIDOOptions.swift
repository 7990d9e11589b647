import JSON

/// The options with which the app's SDK asks for a fingerprint or a face: `json`, handed over unchanged.
public struct FIDOOptions: Sendable, Equatable, Redacted {
    /// The object exactly as Belvo wrote it.
    public let json: RawJSON
    /// The challenge inside, never empty, with which the authenticator's answer is compared.
    public let challenge: String
    /// How long the challenge lives, in milliseconds, if Belvo says so.
    public let timeoutMilliseconds: Int64?
}

/// The answer to asking for registration options (belvo-api.md §4.5).
public enum RegistrationOptions: Sendable, Equatable {
    /// Every call makes a new challenge at the bank: hand these out once, and stop asking.
    case ready(FIDOOptions)
    /// The bank has not given them yet. Nothing is wrong.
    case notYet
}

extension FIDOOptions {
    /// Options are there when they have a challenge; before that, Belvo may send the object without one.
    init?(_ answer: Answer) throws(MalformedAnswer) {
        guard let challenge = try answer.exact("challenge", bytesMax: 4096), !challenge.isEmpty else { return nil }
        json = RawJSON(answer.value)
        self.challenge = challenge
        timeoutMilliseconds = answer.present("timeout")?.int64
    }
}

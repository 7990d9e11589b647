import JSON

/// Why the phone does not answer.
public enum PhoneError: Error, Equatable, Sendable {
    /// The options are not what a relying party sends.
    case malformedOptions(JSONFaults)
    /// None of the options' algorithms is known here.
    case noCommonAlgorithm
    /// A credential of this phone is among those the options exclude.
    case alreadyRegistered
    /// No credential of this phone is among those the options allow.
    case noCredential(relyingPartyID: String)
    /// OpenSSL refused; the text is its own.
    case cryptography(String)
    /// The phone's file cannot be read or written.
    case file(String)
}

extension PhoneError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformedOptions(let faults):
            "These are not the options of a relying party: "
                + faults.all.map { "\($0.pointer): \($0.message)" }.joined(separator: " ")
        case .noCommonAlgorithm: "The options name no algorithm that this phone knows."
        case .alreadyRegistered: "This phone already has a credential that the options exclude."
        case .noCredential(let relyingPartyID):
            "This phone has no credential of \(relyingPartyID) that the options allow."
        case .cryptography(let reason): "OpenSSL: \(reason)"
        case .file(let reason): reason
        }
    }
}

/// A signature algorithm by its COSE number (IANA, COSE Algorithms).
public enum Algorithm: Int64, CaseIterable, Sendable {
    /// ECDSA on P-256 with SHA-256.
    case es256 = -7
    /// RSASSA-PKCS1-v1_5 with SHA-256, here with 2048 bits.
    case rs256 = -257
}

/// How a new credential is vouched for (WebAuthn §8).
public enum Attestation: String, CaseIterable, Sendable {
    /// Not at all: nothing is signed.
    case none
    /// By itself: signed with the credential's own key, without a certificate (WebAuthn §8.2).
    case packed
}

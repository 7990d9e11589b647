import JSON

/// The data that the client, here the app, adds to the authenticator's (WebAuthn §5.8.1).
struct ClientData {
    enum Ceremony: String {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    /// The text that is signed, members in the order of WebAuthn §5.8.1.1.
    let json: [UInt8]

    init(_ ceremony: Ceremony, challenge: [UInt8], origin: String, _ flaw: Flaw?) {
        let otherCeremony = ceremony == .create ? Ceremony.get : .create
        json = JSONWriter.object {
            $0.member("type", (flaw == .type ? otherCeremony : ceremony).rawValue)
            $0.member("challenge", Base64URL.encode(flaw == .challenge ? .random(count: 32) : challenge))
            $0.member("origin", flaw == .origin ? "https://stranger.example" : origin)
            $0.member("crossOrigin", false)
        }
    }
}

import JSON
import SoftwareAuthenticator
import Testing

struct PhoneTests {
    private let bank = RelyingParty()

    @Test(arguments: Algorithm.allCases, Attestation.allCases)
    func `a relying party accepts the phone's registration and signature`(
        algorithm: Algorithm, attestation: Attestation
    ) throws {
        var phone = Phone()
        phone.algorithms = [algorithm]
        phone.attestation = attestation
        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        #expect(credential.format == attestation.rawValue)
        #expect(credential.signCount == 0)
        for count in UInt32(1)...3 {
            let assertion = try phone.sign(bank.fidoOptions(allowing: [credential.id]))
            #expect(try bank.verify(assertion, by: credential) == count)
        }
    }

    @Test(arguments: Flaw.allCases, Algorithm.allCases)
    func `each flaw is the one thing that a relying party refuses`(flaw: Flaw, algorithm: Algorithm) throws {
        var phone = Phone()
        phone.algorithms = [algorithm]
        #expect(throws: refusal(of: flaw)) {
            try bank.register(try phone.register(bank.registrationOptions(), with: flaw))
        }
        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        let options = try bank.fidoOptions(allowing: [credential.id])
        #expect(throws: refusal(of: flaw)) { try bank.verify(try phone.sign(options, with: flaw), by: credential) }
        #expect(try bank.verify(try phone.sign(options), by: credential) == 2)
    }

    private func refusal(of flaw: Flaw) -> RelyingParty.Refusal {
        switch flaw {
        case .challenge: .challenge
        case .type: .type
        case .origin: .origin
        case .relyingParty: .relyingParty
        case .signature, .key: .signature
        case .userPresence: .userPresence
        case .userVerification: .userVerification
        }
    }

    @Test func `a signature for one payment is none for another`() throws {
        var phone = Phone()
        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        let assertion = try phone.sign(bank.fidoOptions(allowing: [credential.id]))
        var other = bank
        other.challenge = "R3dsT2REOE5oZ25JbVE"
        #expect(throws: RelyingParty.Refusal.challenge) { try other.verify(assertion, by: credential) }
        let stranger = try bank.register(try phone.register(bank.registrationOptions()))
        #expect(throws: RelyingParty.Refusal.unknownCredential) { try bank.verify(assertion, by: stranger) }
    }

    @Test func `only a credential that the options allow signs`() throws {
        var phone = Phone()
        let first = try bank.register(try phone.register(bank.registrationOptions()))
        let second = try bank.register(try phone.register(bank.registrationOptions()))
        #expect(try bank.verify(try phone.sign(bank.fidoOptions(allowing: [first.id])), by: first) == 1)
        #expect(try bank.verify(try phone.sign(bank.fidoOptions(allowing: nil)), by: second) == 1)
        #expect(try bank.verify(try phone.sign(bank.fidoOptions(allowing: [])), by: second) == 2)

        let none = PhoneError.noCredential(relyingPartyID: "belvo.com")
        #expect(throws: none) { try phone.sign(bank.fidoOptions(allowing: [[1, 2, 3]])) }
        var stranger = bank
        stranger.id = "belvo.io"
        #expect(throws: PhoneError.noCredential(relyingPartyID: "belvo.io")) {
            try phone.sign(stranger.fidoOptions(allowing: [first.id]))
        }
    }

    @Test func `the most wanted algorithm that both know is taken`() throws {
        var phone = Phone()
        _ = try phone.register(bank.registrationOptions())
        phone.algorithms = [.es256, .rs256]
        _ = try phone.register(bank.registrationOptions())
        #expect(phone.credentials.map(\.algorithm) == [.es256, .rs256])

        var modern = bank
        modern.algorithms = [-8]
        #expect(throws: PhoneError.noCommonAlgorithm) { try phone.register(modern.registrationOptions()) }
        #expect(phone.credentials.count == 2)
    }

    @Test func `a phone with an excluded credential makes no other`() throws {
        var phone = Phone()
        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        #expect(throws: PhoneError.alreadyRegistered) {
            try phone.register(bank.registrationOptions(excluding: [[7], credential.id]))
        }
        #expect(phone.credentials.count == 1)
    }

    @Test func `parameters and credentials of a kind not known count for nothing`() throws {
        var phone = Phone()
        let unknown =
            #"{"rp":{"id":"belvo.com"},"user":{"id":"AA"},"challenge":"AA","pubKeyCredParams":"#
            + #"[{"alg":-7,"type":"private-key"},{"alg":"ES256","type":"password"}]}"#
        let options = try JSONDocument(parsing: Array(unknown.utf8)).root
        #expect(throws: PhoneError.noCommonAlgorithm) { try phone.register(options) }

        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        let allowed =
            #"{"rpId":"belvo.com","challenge":"AA","allowCredentials":"#
            + #"[{"type":"password","id":"\#(Base64URL.encode(credential.id))"},{"type":"public-key","id":"AA"}]}"#
        let fidoOptions = try JSONDocument(parsing: Array(allowed.utf8)).root
        #expect(throws: PhoneError.noCredential(relyingPartyID: "belvo.com")) { try phone.sign(fidoOptions) }
    }

    @Test func `attestation is made when it is asked for`() throws {
        var phone = Phone()
        for (wish, format) in [(nil, "none"), ("none", "none"), ("direct", "packed"), ("indirect", "packed")] {
            var bank = bank
            bank.attestation = wish
            #expect(try bank.register(try phone.register(bank.registrationOptions())).format == format)
        }
    }

    @Test(arguments: [
        ("a5bd0ef9-f8ab-41a2-b968-489761a91de6", "a5bd0ef9-f8ab-41a2-b968-489761a91de6"),
        ("AAEC", "AAEC"),
        ("a user", "YSB1c2Vy"),
    ])
    func `the user handle comes back as it was given, or as its bytes`(user: String, handle: String) throws {
        var (phone, bank) = (Phone(), bank)
        bank.user = user
        _ = try phone.register(bank.registrationOptions())
        let assertion = try JSONDocument(parsing: phone.sign(bank.fidoOptions(allowing: nil))).root
        #expect(assertion["response"]?["userHandle"]?.string == handle)

        phone.returnsUserHandle = false
        let silent = try JSONDocument(parsing: phone.sign(bank.fidoOptions(allowing: nil))).root
        #expect(silent["response"]?["userHandle"]?.string == "")
    }

    @Test func `the origin may be an app's own`() throws {
        var phone = Phone()
        phone.origin = "android:apk-key-hash:abc"
        #expect(throws: RelyingParty.Refusal.origin) {
            try bank.register(try phone.register(bank.registrationOptions()))
        }
    }

    @Test(arguments: [
        (#"[]"#, [""]),
        (#"{}"#, ["/rp", "/user", "/challenge", "/pubKeyCredParams"]),
        (
            #"{"rp":{},"user":{"id":""},"challenge":"","pubKeyCredParams":{}}"#,
            [
                "/rp/id", "/user/id", "/challenge", "/pubKeyCredParams",
            ]
        ),
        (#"{"rp":{"id":"a"},"user":{"id":"b"},"challenge":"Y Q","pubKeyCredParams":[]}"#, ["/challenge"]),
    ])
    func `options that are none are refused with the places of their faults`(json: String, places: [String]) throws {
        var phone = Phone()
        let options = try JSONDocument(parsing: Array(json.utf8)).root
        let error = #expect(throws: PhoneError.self) { try phone.register(options) }
        guard case .malformedOptions(let faults) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(Set(faults.all.map(\.pointer)) == Set(places))
        #expect(throws: PhoneError.self) { try phone.sign(options) }
    }
}

import JSON
import SoftwareAuthenticator
import Testing

/// How a platform writes what its authenticator made: the members that it has, and how it spells bytes.
struct WireForm: Sendable, CustomTestStringConvertible {
    /// How a text stands for bytes (RFC 4648 §5 and §4).
    enum Spelling: Sendable {
        case base64URL, paddedBase64URL, base64, unpaddedBase64
    }

    /// A member that a platform may leave out.
    enum Presence: Sendable {
        case present, null, missing
    }

    let testDescription: String
    var spelling = Spelling.base64URL
    /// Where it is another one than that of the other bytes.
    var rawID: Spelling?
    var attachment = Presence.present
    var type = Presence.present
    var results: String? = "{}"
    /// The assertion of an authenticator without a user handle; nil for one that has one.
    var userHandle: Presence?
    /// Further members of a registration, of a signature, and of the `response` of each: JSON text.
    var further: [String: String] = [:]
    var furtherOfRegistration: [String: String] = [:]
    /// The members beside risk signals and assertion.
    var beside = ""
    var platform = "IOS"

    /// The members that a browser adds to a registration (WebAuthn §5.2.1.1).
    private static let browserMembers = [
        "transports": #"["internal"]"#, "publicKeyAlgorithm": "-7", "publicKey": #""MFkwEwYHKoZIzj0CAQ""#,
        "authenticatorData": #""pkLSG3xtVeHOI8U5mCjSx0m_am7y_gPMnhDN9O1ouIRF""#,
    ]

    static let all = [
        WireForm(testDescription: "the guide", results: nil),
        WireForm(testDescription: "padded base64url", spelling: .paddedBase64URL),
        WireForm(testDescription: "base64", spelling: .base64),
        WireForm(testDescription: "base64 without padding", spelling: .unpaddedBase64),
        WireForm(
            testDescription: "nothing but what is needed", attachment: .missing, type: .missing, results: nil,
            userHandle: .missing),
        WireForm(
            testDescription: "null for what is not known", attachment: .null, type: .null, results: "null",
            userHandle: .null),
        WireForm(
            testDescription: "members that nobody knows", results: #"{"credProps": {"rk": true}, "x": [1.0]}"#,
            further: ["x": #"{"y": null}"#, "": "0"], furtherOfRegistration: ["z": #""\u00e9""#]),
        WireForm(
            testDescription: "toJSON() of a browser", userHandle: .missing, furtherOfRegistration: browserMembers,
            platform: "BROWSER"),
        WireForm(
            testDescription: "Belvo's web SDK", furtherOfRegistration: ["transports": #"["internal"]"#],
            platform: "BROWSER"),
        WireForm(
            testDescription: "Credential Manager of Android", results: #"{"credProps": {"rk": false}}"#,
            userHandle: .missing,
            furtherOfRegistration: browserMembers.merging(["transports": #"["internal", "hybrid"]"#]) { $1 },
            beside: #""platform": "ANDROID", "#, platform: "ANDROID"),
        WireForm(
            testDescription: "Belvo's SDK for iOS, its encoded texts", results: nil, userHandle: .present,
            beside: #""platform": "ios", "#),
        WireForm(
            testDescription: "Belvo's SDK for iOS, its bytes in base64", spelling: .base64, rawID: .base64,
            userHandle: .null, beside: #""platform": "IOS", "#),
        WireForm(
            testDescription: "Belvo's SDK for iOS, only rawId in base64", rawID: .base64, userHandle: .null,
            beside: #""platform": null, "#),
    ]

    /// `confirmation_data` as this platform writes it.
    func registration(_ data: [UInt8]) throws -> String {
        try written(data, parts: ["attestationObject", "clientDataJSON"], furtherOfRegistration)
    }

    /// `assertion` as this platform writes it.
    func assertion(_ data: [UInt8]) throws -> String {
        var parts = ["authenticatorData", "clientDataJSON", "signature"]
        var further: [String: String] = [:]
        switch userHandle {
        case nil: parts.append("userHandle")
        case .present: further["userHandle"] = #""""#
        case .null: further["userHandle"] = "null"
        case .missing: break
        }
        return try written(data, parts: parts, further)
    }

    private func written(_ data: [UInt8], parts: [String], _ furtherParts: [String: String]) throws -> String {
        let made = try JSONDocument(parsing: data).root
        let response = try #require(made["response"])
        let id = try #require(made["id"]?.string)
        let texts = try parts.map { ($0, try spelled(#require(response[$0]?.string), spelling)) }
        let (shownID, shownRawID) = (
            try spelled(id, rawID == nil ? spelling : .base64URL), try spelled(id, rawID ?? spelling)
        )
        let text = JSONWriter.object { credential in
            for (name, json) in further.sorted(by: <) { credential.memberRaw(name, json.utf8) }
            credential.member("rawId", shownRawID)
            attachment.write("authenticatorAttachment", "platform", to: &credential)
            credential.memberObject("response") { response in
                for (name, text) in texts { response.member(name, text) }
                for (name, json) in furtherParts.sorted(by: <) { response.memberRaw(name, json.utf8) }
            }
            if let results { credential.memberRaw("clientExtensionResults", results.utf8) }
            type.write("type", "public-key", to: &credential)
            credential.member("id", shownID)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func spelled(_ text: String, _ spelling: Spelling) throws -> String {
        _ = try #require(Base64URL.decode(text))
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return switch spelling {
        case .base64URL: text
        case .paddedBase64URL: text + padding
        case .base64: standard + padding
        case .unpaddedBase64: standard
        }
    }
}

extension WireForm.Presence {
    fileprivate func write(_ name: String, _ text: String, to writer: inout JSONWriter) {
        switch self {
        case .present: writer.member(name, text)
        case .null: writer.memberNull(name)
        case .missing: break
        }
    }
}

import JSON

/// belvo-api.md §14: the guide prints one form of a registration and of a signature, Belvo's types allow more.
public enum CredentialForm: String, Switch {
    /// The members as `RegistrationResponseJSON` and `AuthenticationResponseJSON` have it (WebAuthn §5.1): further
    /// members, `authenticatorAttachment` and `type` perhaps missing, base64 in any form. `userHandle` is a text all
    /// the same.
    case tolerant
    /// Exactly the members of the guide, in base64url without padding.
    case strict

    func decode(_ text: String) -> [UInt8]? {
        self == .strict ? Base64URL.decode(text) : AnyBase64.decode(text)
    }

    var expectation: String {
        self == .strict ? "Must be base64url without padding." : "Must be base64url or base64."
    }
}

/// belvo-api.md §14: Open Finance's examples are padded and have a `/`.
public enum OptionBytes: String, Switch {
    case base64URL = "base64url"
    case paddedBase64URL = "padded_base64url"
    case base64

    /// The bytes that a text in base64url stands for, in this form.
    func spell(_ text: String) -> String {
        switch self {
        case .base64URL: text
        case .paddedBase64URL: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        case .base64: Base64URL.decode(text).map { Base64.encode($0) } ?? text
        }
    }
}

/// belvo-api.md §14: `extensions: {"appid": "true"}` is what the guide prints for iOS.
public enum AppID: String, Switch {
    case phones, everywhere, nowhere

    func isFor(_ platform: String) -> Bool {
        switch self {
        // A browser makes no credential with it: it is for signatures alone (WebAuthn §10.1.1).
        case .phones: platform != Platform.browser.rawValue
        case .everywhere: true
        case .nowhere: false
        }
    }
}

/// The `pubKeyCredParams` that are offered.
public enum Algorithms: String, Switch {
    case both
    case es256, rs256

    /// COSE's numbers.
    var numbers: [Int64] {
        switch self {
        case .both: [-257, -7]
        case .es256: [-7]
        case .rs256: [-257]
        }
    }
}

/// The guide's options have no `authenticatorSelection`, which the SDK's types have (belvo-api.md §4.5).
public enum ResidentKey: String, Switch {
    case unsaid, discouraged, required

    var requirement: String? { self == .unsaid ? nil : rawValue }
}

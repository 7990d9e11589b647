import Glibc
import MerchantAuth
import MerchantModel
import Payments

import struct FoundationEssentials.UUID

// Texts that are kept as they are, once their shape is known to be right.

extension SettingForm<String> {
    /// Any text on one line.
    static let text = SettingForm("a text without control characters") { text in
        text.isPlain ? text : nil
    }

    static let readableFile = SettingForm("the path of a file that this process can read") { path in
        access(path, R_OK) == 0 ? path : nil
    }
}

extension SettingForm<Secret> {
    static let secret = SettingForm("a text without control characters") { text in
        text.isPlain ? Secret(text) : nil
    }

    /// The characters of a token behind `Bearer` (RFC 6750 §2.1) and, more leniently, any visible ASCII; too long to be
    /// guessed.
    static let bearerToken = SettingForm(
        "\(bearerBytes.lowerBound) or more visible ASCII characters without blanks"
    ) { text in
        bearerBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            ? Secret(text) : nil
    }

    /// The length of a token in bytes; a longer one is not read in a request.
    private static let bearerBytes = 16...BearerToken.bytesMax

    /// The user-id of Basic authentication (RFC 7617 §2).
    static let credentialID = SettingForm("a text without colons and control characters") { text in
        text.isPlain && !text.utf8.contains(UInt8(ascii: ":")) ? Secret(text) : nil
    }

    /// Only the outer shape is checked; libpq reads the rest.
    static let connectionString = SettingForm(
        "a URI such as postgresql://user@host/database, or keywords such as host=... dbname=..."
    ) { text in
        let isURI = text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
        return text.isPlain && (isURI || text.utf8.contains(UInt8(ascii: "="))) ? Secret(text) : nil
    }
}

extension SettingForm<UUID> {
    static let uuid = SettingForm("a UUID such as 5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10") { ID<Never>($0)?.uuid }
}

extension SettingForm<Money> {
    /// More than nothing. The expectation says why a text is no amount.
    static let amount = SettingForm("an amount above zero, such as 500.00") { text in
        (try? Money(text)).flatMap { $0 > .zero ? $0 : nil }
    }
}

extension String {
    /// Whether the text can stand on one line of a protocol.
    fileprivate var isPlain: Bool {
        !unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

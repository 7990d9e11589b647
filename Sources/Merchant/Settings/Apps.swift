/// An Android app that may use this server's passkeys and links: its package and a certificate that signs it.
public struct AndroidApp: Hashable, Sendable {
    public let package: String
    /// The certificate's SHA-256: 32 pairs of hexadecimal digits in upper case, with colons between them.
    public let fingerprint: String

    /// Reads `shop.app=00:11:...`; nothing for any other text. Digits may be in either case.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, AppName.isDotted(parts[0]) else { return nil }
        let pairs = parts[1].split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count == 32,
            pairs.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(AppName.isHexDigit) })
        else { return nil }
        package = String(parts[0])
        fingerprint = parts[1].uppercased()
    }
}

extension SettingForm<AndroidApp> {
    static let androidApp = SettingForm("a package and its certificate's SHA-256, such as shop.app=00:11:...") {
        AndroidApp($0)
    }
}

extension SettingForm<String> {
    /// An Apple team's ten characters and a bundle's name.
    static let appleAppID = SettingForm("TEAM.bundle, such as ABCDE12345.shop.app") { text in
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 10, AppName.isDotted(parts[0]),
            AppName.isDotted(parts[1])
        else { return nil }
        return text
    }
}

private enum AppName {
    /// Letters, digits, hyphens and underscores with points between them.
    static func isDotted(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { isHexDigit($0) || isLetter($0) || "-_".utf8.contains($0) }
        }
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte < 0x80 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

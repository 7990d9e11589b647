import MerchantAPI

extension AndroidApp {
    /// Reads `shop.app=00:11:...`; nothing for any other text. Digits may be in either case.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, AppName.isPackage(parts[0]) else { return nil }
        let pairs = parts[1].split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count == 32,
            pairs.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(AppName.isHexDigit) })
        else { return nil }
        self.init(package: String(parts[0]), fingerprint: parts[1].uppercased())
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
        guard parts.count == 2, AppName.isTeam(parts[0]), AppName.isBundle(parts[1]) else { return nil }
        return text
    }
}

private enum AppName {
    /// Two or more parts with points between them, each a letter and then letters, digits and underscores (Android,
    /// "Configure the app module", read 2026-11-21).
    static func isPackage(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                part.utf8.first.map(isLetter) ?? false
                    && part.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
            }
    }

    /// Letters, digits and hyphens with points between them (Apple, glossary, "bundle ID", read 2026-11-21).
    static func isBundle(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
        }
    }

    /// The ten letters and digits that Apple gives a team, which stand before the bundle in an app's identifier.
    static func isTeam(_ text: Substring) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { isLetter($0) || isDigit($0) }
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte < 0x80 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

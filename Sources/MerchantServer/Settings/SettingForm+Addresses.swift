import HTTP
import MerchantAPI
import Transport

extension SettingForm<SocketAddress> {
    static let address = SettingForm("an address with a port, such as 127.0.0.1:8080 or [::1]:8080") {
        SocketAddress(parsing: $0)
    }
}

extension SettingForm<URL> {
    /// An address to which secrets or personal data go: encrypted, or not leaving the machine.
    static let secureURL = SettingForm("an https URL, or an http one to a loopback address") { text in
        URL(text).flatMap { $0.origin.isSecure ? $0 : nil }
    }

    /// The same without path and query, because paths are built below it.
    static let secureBaseURL = SettingForm(
        "an https URL without a path, or an http one to a loopback address"
    ) { text in
        secureURL.parse(text).flatMap { $0.isBare ? $0 : nil }
    }
}

extension SettingForm<URL.Origin> {
    static let origin = SettingForm("a web origin such as https://shop.example") { text in
        URL(text).flatMap { $0.isBare && $0.origin.isSecure ? $0.origin : nil }
    }
}

extension SettingForm<String> {
    /// The same as `secureURL`, kept as it was spelled: banks and Belvo compare callback addresses letter by letter.
    static let callbackURL = SettingForm(SettingForm<URL>.secureURL.expectation) { text in
        SettingForm<URL>.secureURL.parse(text).map { _ in text }
    }

    /// A page for a user's browser, kept as it was spelled. It has no fragment: something is put behind it.
    static let webPage = SettingForm("an https URL without a fragment, or an http one to a loopback address") { text in
        SettingForm<URL>.secureURL.parse(text).map { _ in text }
    }

    /// A path of another server, as it is sent.
    static let path = SettingForm("a path such as /payments/api/token/refresh/, without a query") { text in
        guard let url = URL("https://path.invalid" + text), url.target.query == nil else { return nil }
        return url.target.path == text ? text : nil
    }

    /// An address that opens an app: https, or a scheme of the app's own.
    static let deepLink = SettingForm(
        "an address such as shopapp://enrollment or https://app.shop.example/enrollment, without a fragment"
    ) { text in
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon].lowercased()
        if scheme == "https" { return URL(text).map { _ in text } }
        let rest = text.utf8[text.utf8.index(after: colon)...]
        guard DeepLink.isScheme(scheme.utf8), !DeepLink.foreignSchemes.contains(scheme),
            !rest.isEmpty, rest.allSatisfy(DeepLink.mayHold)
        else { return nil }
        return text
    }
}

extension SettingForm<IPNetwork> {
    static let network = SettingForm("an address or a network, such as 10.0.0.0/8") { IPNetwork($0) }
}

extension URL.Origin {
    /// Whether what is sent there is encrypted or does not leave this machine.
    var isSecure: Bool {
        if scheme == .https || host == "localhost" { return true }
        return switch IPAddress(host) {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        case nil: false
        }
    }
}

extension URL {
    fileprivate var isBare: Bool { target.path == "/" && target.query == nil }
}

/// The grammar of addresses with a scheme of an app's own.
private enum DeepLink {
    /// Schemes that browsers act upon themselves, or that show a user's secrets to the network.
    static let foreignSchemes: Set<String> = [
        "about", "blob", "data", "file", "filesystem", "ftp", "http", "javascript", "vbscript", "view-source", "ws",
        "wss",
    ]

    /// RFC 3986 §3.1; the text is in lower case already.
    static func isScheme(_ text: String.UTF8View) -> Bool {
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    /// The octets of a URI without a fragment (RFC 3986 §2), escapes included.
    static func mayHold(_ byte: UInt8) -> Bool {
        isLetter(byte | 0x20) && byte < 0x80 || isDigit(byte) || "-._~:/?[]@!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

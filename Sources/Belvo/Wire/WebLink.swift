import HTTP

/// Addresses that Belvo gives us for people to open. This server never fetches one.
enum WebLink {
    /// Whether an address is https, or http on this machine, where only a sandbox can be.
    ///
    /// That keeps `javascript:` and its like out of browsers. It is laxer about the rest than `HTTP.URL`,
    /// because a bank's address is the bank's affair as long as nothing in it can break out of a text, or show a
    /// person another host than the one that is opened: user information before the host, and characters beyond
    /// ASCII, of which some turn the direction of writing, are none of an address (RFC 3986 §2, §3.2.1).
    static func isAcceptable(_ text: String) -> Bool {
        let prefix = "https://"
        guard text.utf8.prefix(prefix.utf8.count).map(lowercased) == Array(prefix.utf8) else { return isLoopback(text) }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        let host = rest.prefix { !"/?#".utf8.contains($0) }
        return !host.isEmpty && !host.contains(UInt8(ascii: "@"))
            && rest.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\\\"<>`".utf8.contains($0) }
    }

    private static func isLoopback(_ text: String) -> Bool {
        guard let origin = URL(text)?.origin else { return false }
        return ["127.0.0.1", "::1", "localhost"].contains(origin.host)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
}

/// An absolute http or https URL: one of our configuration, or one that an upstream gave us to follow.
///
/// User information, fragments, white space, backslashes and everything else that two readers could
/// take for two different hosts makes it no URL at all.
public struct URL: Hashable, Sendable, CustomStringConvertible {
    /// The two schemes that this layer speaks.
    public enum Scheme: String, Sendable {
        case http
        case https

        /// The port that a URL of the scheme need not name (RFC 9110 §4.2).
        public var defaultPort: UInt16 { self == .https ? 443 : 80 }
    }

    /// Where a URL leads to, without what it asks for there (RFC 6454 §4). Equal means the same origin.
    public struct Origin: Hashable, Sendable, CustomStringConvertible {
        public let scheme: Scheme
        /// A name or an address, in lower case; an IPv6 address without its brackets.
        public let host: String
        public let port: UInt16

        /// The value of a Host field: the port only if the scheme's is another, IPv6 in brackets.
        public var authority: String {
            let name = host.utf8.contains(Octet.colon) ? "[\(host)]" : host
            return port == scheme.defaultPort ? name : "\(name):\(port)"
        }

        public var description: String { "\(scheme)://\(authority)" }
    }

    public let origin: Origin
    public let target: Target

    public init(_ origin: Origin, _ target: Target) {
        self.origin = origin
        self.target = target
    }

    /// Reads the text, or gives nothing when it is not such a URL.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        // The reason why it is none is not told: only we and an upstream write URLs here.
        guard let url = try? AbsoluteForm(parsing: 0..<bytes.count, of: bytes.span),
            !bytes[url.authority.host].contains(Octet.percent), url.authority.port != 0
        else { return nil }
        var host = bytes[url.authority.host]
        if host.first == Octet.openingBracket { host = host.dropFirst().dropLast() }
        origin = Origin(
            scheme: url.scheme,
            host: String(decoding: host, as: UTF8.self).lowercased(),
            port: url.authority.port ?? url.scheme.defaultPort
        )
        target = Target(at: url.target, of: bytes.span)
    }

    public var description: String { "\(origin)\(target)" }
}

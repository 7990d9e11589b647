/// A field name, compared without regard to case (RFC 9110 §5.1).
public struct HeaderName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name in lower case.
    public let lowercased: String

    /// Takes a name that stands in our own source.
    public init(stringLiteral name: StaticString) {
        let bytes = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount).span
        precondition(HeaderName.isName(bytes), "a field name is a token")
        lowercased = bytes.lowercasedText
    }

    /// Takes a name from elsewhere, or nothing when it is not a token (RFC 9110 §5.6.2).
    public init?(_ name: some StringProtocol) {
        let bytes = Array(name.utf8)
        guard HeaderName.isName(bytes.span) else { return nil }
        lowercased = bytes.span.lowercasedText
    }

    private static func isName(_ bytes: Span<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.endOfRun(of: .token, in: 0..<bytes.count) == bytes.count
    }

    public var description: String { lowercased }
}

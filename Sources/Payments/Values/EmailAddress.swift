/// An e-mail address, checked for its outer shape only: whether it exists, only a mail could tell.
public struct EmailAddress: Hashable, Sendable, Redacted {
    /// The longest address that can travel in a mail's envelope (RFC 5321 §4.5.3.1.3, less its brackets).
    public static let bytesMax = 254

    public let text: String

    /// Reads one local part, one `@` and a domain of at least two labels, without white space.
    public init(_ text: String) throws(Fault) {
        guard text.utf8.count <= EmailAddress.bytesMax else { throw .malformed }
        let isPrintable = text.unicodeScalars.allSatisfy {
            !$0.properties.isWhitespace && $0.properties.generalCategory != .control
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard isPrintable, parts.count == 2, !parts[0].isEmpty else { throw .malformed }
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy({ !$0.isEmpty }) else { throw .malformed }
        self.text = text
    }

    /// Why a text is no e-mail address.
    public enum Fault: ValueFault, CaseIterable {
        case malformed

        public var code: String { "malformed" }
        public var message: String {
            "An e-mail address is a name, one @ and a domain, in at most \(EmailAddress.bytesMax) bytes."
        }
    }
}

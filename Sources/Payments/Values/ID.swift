import FoundationEssentials

/// The identity of one record of the kind `Record`.
///
/// `Record` is never stored; it only keeps a payment's identity from being handed in where an enrollment's
/// is wanted.
public struct ID<Record: ~Copyable>: Hashable, Sendable {
    public let uuid: UUID

    public init(_ uuid: UUID) {
        self.uuid = uuid
    }
}

extension ID: LosslessStringConvertible where Record: ~Copyable {
    /// Reads the 36-character form of RFC 9562 §4, hexadecimal digits in either case; nil for anything else:
    /// no braces, no `urn:uuid:`, no missing hyphens.
    public init?(_ text: String) {
        guard let uuid = UUID(canonicalText: text) else { return nil }
        self.init(uuid)
    }

    /// The 36 characters in lower case, as RFC 9562 §4 asks of what writes them.
    public var description: String { uuid.canonicalText }
}

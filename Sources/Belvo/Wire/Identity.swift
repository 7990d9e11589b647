import struct FoundationEssentials.UUID

/// The id that Belvo gave an object: a UUID, bound to the kind of object it names, so that two kinds cannot be
/// swapped.
///
/// A path is built from nothing else, so no text of an app or of an answer ever becomes part of one.
public struct Identity<Noun>: Hashable, Sendable, CustomStringConvertible {
    public let uuid: UUID

    /// Takes an id that has been read before, such as one of a database.
    public init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Reads the 36 characters of RFC 9562 §4, either case, and nothing else.
    public init?(_ text: some StringProtocol) {
        guard let uuid = UUID(hyphenated: text) else { return nil }
        self.uuid = uuid
    }

    /// The id in lower case, as Belvo spells it and as its paths need it.
    public var description: String { uuid.lowercased }
}

/// Tells one state of a resource from another: `"abc"`, or `W/"abc"` for one that promises less (RFC 9110 §8.8.3).
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotation marks.
    public let opaque: String
    public let isWeak: Bool

    /// Takes the text of a strong tag; nothing when it holds what no tag may hold.
    public init?(_ opaque: String) {
        guard opaque.utf8.allSatisfy(EntityTag.isTagOctet) else { return nil }
        self.init(checked: opaque, isWeak: false)
    }

    /// Takes digits and the like of our own making; anything that no tag may hold is our own mistake.
    public init(digits: String) {
        precondition(digits.utf8.allSatisfy(EntityTag.isTagOctet), "a tag holds what can be seen")
        self.init(checked: digits, isWeak: false)
    }

    private init(checked opaque: String, isWeak: Bool) {
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// The tag as it stands in a field.
    public var description: String { isWeak ? "W/\"\(opaque)\"" : "\"\(opaque)\"" }

    /// Whether two tags are the same but for their strength: the weak comparison (RFC 9110 §8.8.3.2).
    public func isLike(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Takes a tag from the front of a field's value, or nothing when there is none.
    fileprivate init?(takenFrom text: inout Substring.UTF8View) {
        var rest = text
        let isWeak = rest.starts(with: [UInt8(ascii: "W"), UInt8(ascii: "/")])
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        rest = rest.dropFirst()
        let opaque = rest.prefix(while: EntityTag.isTagOctet)
        rest = rest[opaque.endIndex...]
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        text = rest.dropFirst()
        self.init(checked: String(Substring(opaque)), isWeak: isWeak)
    }

    /// Anything that can be seen but a quotation mark, and what is beyond ASCII.
    private static func isTagOctet(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != UInt8(ascii: "\"") && byte != 0x7F
    }
}

/// The versions that a client has already: the tags in `If-None-Match` (RFC 9110 §13.1.2).
public enum IfNoneMatch: Sendable, Equatable {
    /// `*`: whatever there is.
    case anything
    case tags([EntityTag])

    private static let field: HeaderName = "if-none-match"

    /// Reads the field. Nothing when it is missing or is not what the rule says: the client is then taken to have
    /// nothing.
    public init?(_ headers: Headers) {
        let values = headers.values(Self.field)
        guard !values.isEmpty else { return nil }
        // Several fields of a list are one list (RFC 9110 §5.3).
        let text = values.joined(separator: ",")
        if text == "*" {
            self = .anything
            return
        }
        guard let tags = IfNoneMatch.tags(in: text) else { return nil }
        self = .tags(tags)
    }

    /// Whether the client has this state of the resource.
    public func holds(_ tag: EntityTag) -> Bool {
        switch self {
        case .anything: true
        case .tags(let tags): tags.contains { $0.isLike(tag) }
        }
    }

    /// At least one tag between commas; an element may be empty (RFC 9110 §5.6.1).
    private static func tags(in text: String) -> [EntityTag]? {
        var tags: [EntityTag] = []
        var rest = text[...].utf8
        while true {
            rest = rest.drop(while: isBlank)
            if rest.first != UInt8(ascii: ","), !rest.isEmpty {
                guard let tag = EntityTag(takenFrom: &rest) else { return nil }
                tags.append(tag)
                rest = rest.drop(while: isBlank)
            }
            guard let next = rest.popFirst() else { return tags.isEmpty ? nil : tags }
            guard next == UInt8(ascii: ",") else { return nil }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

/// A W3C `traceparent` (Trace Context, level 1, §3.2), passed on so that Belvo's traces join ours.
public struct TraceParent: Hashable, Sendable {
    public let text: String

    /// Takes version 00 with ids in lower-case hexadecimal that are not all zero; nothing else.
    public init?(_ text: String) {
        let fields = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard fields.map(\.count) == [2, 32, 16, 2], fields[0].elementsEqual("00".utf8) else { return nil }
        guard fields.allSatisfy({ $0.allSatisfy(TraceParent.isHexadecimal) }) else { return nil }
        guard fields[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } }) else { return nil }
        self.text = text
    }

    /// The trace's id: the 32 digits of the second field.
    public var traceID: String { String(text.dropFirst(3).prefix(32)) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

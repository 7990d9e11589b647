/// The app's own JSON beside a record: kept and passed on byte for byte, and never looked into.
public struct Metadata: Hashable, Sendable, Redacted {
    /// The most bytes that are kept, white space included.
    public static let bytesMax = 4096

    /// JSON text, as it came.
    public let json: [UInt8]

    /// Takes text that a parser has already found to be JSON; only its size is checked here.
    public init(json: some Collection<UInt8>) throws(Fault) {
        guard json.count <= Metadata.bytesMax else { throw .tooLarge }
        self.json = Array(json)
    }

    /// Why a document is not kept.
    public enum Fault: ValueFault, CaseIterable {
        case tooLarge

        public var code: String { "too_large" }
        public var message: String { "Metadata has at most \(Metadata.bytesMax) bytes of JSON text." }
    }
}

import Logging

/// A value of a member of a log line.
enum LogValue {
    case text(String)
    /// JSON text without quotes: an integer or a boolean.
    case bare(String)
    case list([LogValue])
    case object([(name: String, value: LogValue)])

    init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .stringConvertible(let value): self = LogValue(describing: value)
        case .array(let values): self = .list(values.map { LogValue($0) })
        case .dictionary(let values):
            self = .object(values.sorted { $0.key < $1.key }.map { ($0.key, LogValue($0.value)) })
        }
    }

    private init(describing value: any CustomStringConvertible) {
        switch value {
        case is Bool, is Int, is Int64, is Int32, is UInt64, is UInt32, is UInt16: self = .bare(value.description)
        default: self = .text(value.description)
        }
    }
}

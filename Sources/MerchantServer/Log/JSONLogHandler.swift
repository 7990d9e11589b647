import Logging
import MerchantModel
import Payments

/// Writes each event as one line of JSON: `time`, `level`, `label`, `event`, `error` where there is one, and the
/// metadata as further members in the order of their names.
///
/// The event's message is its name, such as `payment.succeeded`; what varies belongs into the metadata. Values are
/// written by their own descriptions, so a redacted type stays redacted. Integers and booleans that come as values,
/// not as interpolated text, are written as such.
package struct JSONLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let output: LogOutput
    private let now: @Sendable () -> Timestamp

    package init(
        label: String, level: Logger.Level, output: LogOutput = .standardOutput,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.label = label
        self.output = output
        self.now = now
        logLevel = level
    }

    /// The metadata of every line of this logger.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    package func log(event: LogEvent) {
        var line = LogLine()
        line.add("time", .text(now().description))
        line.add("level", .text(event.level.rawValue))
        line.add("label", .text(label))
        line.add("event", .text(event.message.description))
        if let error = event.error { line.add("error", .text("\(error)")) }
        for (name, value) in all(event.metadata).sorted(by: { $0.key < $1.key }) {
            // Readers differ on a name twice in one object (RFC 8259 §4).
            line.add(JSONLogHandler.ownNames.contains(name) ? name + "_" : name, LogValue(value))
        }
        output.write(line)
    }

    /// The logger's metadata, over which its provider's wins, over which the event's own wins.
    private func all(_ own: Logger.Metadata?) -> Logger.Metadata {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own { all.merge(own) { $1 } }
        return all
    }

    private static let ownNames: Set<String> = [
        "time", "level", "label", "event", "error", LogLine.truncatedName, LogLine.droppedName,
    ]
}

extension Logger {
    /// A logger of JSON lines, on standard output by default. Each line has the trace that it belongs to.
    package static func jsonLines(
        label: String, level: Logger.Level, to output: LogOutput = .standardOutput,
        now: @escaping @Sendable () -> Timestamp
    ) -> Logger {
        Logger(label: label) { label in
            var handler = JSONLogHandler(label: label, level: level, output: output, now: now)
            handler.metadataProvider = Trace.metadata
            return handler
        }
    }
}

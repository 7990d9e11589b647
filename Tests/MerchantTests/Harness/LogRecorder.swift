import Logging
import Synchronization

/// Keeps what was logged, so that a test can see what an operator would have seen, and what no operator may see.
final class LogRecorder: Sendable {
    private let lines = Mutex<[String]>([])

    var logger: Logger {
        Logger(label: "merchant") { _ in Handler(recorder: self) }
    }

    /// Everything so far, one line an event.
    var all: [String] { lines.withLock { $0 } }

    /// Whether such an event was logged.
    func holds(_ event: String) -> Bool { all.contains { $0.hasPrefix(event) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let details = event.metadata ?? [:]
            recorder.lines.withLock {
                $0.append("\(event.message) \(details.map { "\($0)=\($1)" }.sorted().joined(separator: " "))")
            }
        }
    }
}

import Logging

/// The trace under which something happens (W3C Trace Context): a request's own, as its client names it in
/// `traceparent`, or a new one; each poll of a record has its own. Every line of the log that is written meanwhile
/// carries it, as `trace_id`.
package enum Trace {
    /// 32 hexadecimal digits.
    @TaskLocal package static var current: String?

    /// The metadata that a logger adds to each line.
    package static let metadata = Logger.MetadataProvider {
        current.map { ["trace_id": "\($0)"] } ?? [:]
    }
}

import MerchantModel
import Transport

/// Writes metrics in Prometheus' text format, version 0.0.4.
///
/// Source: Prometheus docs, "Exposition formats". Each metric is one group: its HELP and TYPE lines, then its samples.
struct MetricsText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var bytes: [UInt8] = []

    /// Writes one metric with all its samples; without any it is left out.
    mutating func write(_ metric: Metric, _ body: (inout MetricSamples) -> Void) {
        var samples = MetricSamples(metric: metric)
        body(&samples)
        guard !samples.text.isEmpty else { return }
        bytes += "# HELP \(metric.name) \(Self.escaped(metric.help, quotes: false))\n".utf8
        bytes += "# TYPE \(metric.name) \(metric.kind.rawValue)\n".utf8
        bytes += samples.text.utf8
    }

    /// Writes a metric without labels.
    mutating func write(_ metric: Metric, _ value: MetricValue) {
        write(metric) { $0.add([], value) }
    }

    /// The samples of one metric.
    struct MetricSamples {
        fileprivate let metric: Metric
        fileprivate var text = ""

        /// One sample, with a value for each of the metric's labels.
        mutating func add(_ labels: [String], _ value: MetricValue) {
            line("", labels, le: nil, value)
        }

        /// A histogram: what fell into each bucket alone, the last one without a bound, and the sum of all.
        mutating func add(_ labels: [String], _ histogram: LatencyHistogram.Reading) {
            var below: UInt64 = 0
            for (place, count) in histogram.counts.enumerated() {
                below += count
                line("_bucket", labels, le: "\(LatencyHistogram.bounds[place])", .whole(Int64(clamping: below)))
            }
            line("_sum", labels, le: nil, .nanoseconds(histogram.sumNanoseconds))
            line("_count", labels, le: nil, .whole(Int64(clamping: below)))
        }

        private mutating func line(_ suffix: String, _ values: [String], le: String?, _ value: MetricValue) {
            precondition(values.count == metric.labels.count, "a value for each label of the metric")
            var pairs = zip(metric.labels, values).map { "\($0)=\"\(MetricsText.escaped($1, quotes: true))\"" }
            if let le { pairs.append("le=\"\(le)\"") }
            let labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
            text += "\(metric.name)\(suffix)\(labels) \(value)\n"
        }
    }

    /// A label's value, or a HELP text, in which quotes stand for themselves.
    static func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 }) else { return text }
        return text.reduce(into: "") { escaped, character in
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.append(character)
            }
        }
    }
}

/// A sample's value.
enum MetricValue: CustomStringConvertible, Sendable {
    case whole(Int64)
    /// A time, which is shown in seconds.
    case nanoseconds(UInt64)

    static func count(_ value: Int) -> MetricValue { .whole(Int64(value)) }
    static func flag(_ value: Bool) -> MetricValue { .whole(value ? 1 : 0) }
    /// A time; one that is over is none.
    static func seconds(_ value: Duration) -> MetricValue { .nanoseconds(UInt64(max(0, value.wholeNanoseconds))) }

    /// Exact to the nanosecond, where a floating-point number of seconds would not be after some months.
    var description: String {
        switch self {
        case .whole(let value): return "\(value)"
        case .nanoseconds(let value):
            let fraction = "\(value % 1_000_000_000)"
            return "\(value / 1_000_000_000).\(String(repeating: "0", count: 9 - fraction.utf8.count))\(fraction)"
        }
    }
}

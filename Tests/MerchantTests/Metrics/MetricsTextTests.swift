import Payments
import Postgres
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer

/// How figures are counted and written, without a server.
@Suite struct MetricsTextTests {
    @Test func `what is written can be read by the format's rules, whatever stands in a label`() throws {
        var text = MetricsText()
        let odd = "a \"quoted\" \\ backslash\nand a line"
        text.write(.recordsPending) { $0.add([odd], .whole(3)) }
        text.write(.recordsOldest) { _ in }
        let page = try Exposition(parsing: String(decoding: text.bytes, as: UTF8.self))
        #expect(page.value("merchant_records_pending", ["record": odd]) == 3)
        // What has no sample is not there at all.
        #expect(page.families.map(\.name) == ["merchant_records_pending"])
    }

    @Test func `a quote stands for itself in a HELP text and not in a label`() {
        #expect(MetricsText.escaped("say \"a\\b\n\"", quotes: false) == #"say "a\\b\n""#)
        #expect(MetricsText.escaped("say \"a\\b\n\"", quotes: true) == #"say \"a\\b\n\""#)
    }

    @Test(arguments: [
        (MetricValue.whole(-3), "-3"), (.flag(true), "1"), (.nanoseconds(0), "0.000000000"),
        (.nanoseconds(1), "0.000000001"), (.nanoseconds(12_034_000_000), "12.034000000"),
        (.seconds(.milliseconds(-5)), "0.000000000"), (.seconds(.seconds(1_763_700_000)), "1763700000.000000000"),
    ])
    func `a value is written exactly`(value: MetricValue, text: String) {
        #expect(value.description == text)
    }

    @Test(arguments: 0..<16)
    func `a time falls into the bucket that its label says, the bound included`(bucket: Int) throws {
        let label = "\(LatencyHistogram.bounds[bucket])"
        let bound = label == "+Inf" ? UInt64.max : UInt64((try #require(Double(label)) * 1e9).rounded())
        let histogram = LatencyHistogram()
        histogram.record(nanoseconds: bound)
        #expect(histogram.reading.counts.firstIndex(of: 1) == bucket)
        #expect(histogram.reading.sumNanoseconds == bound)
        guard label != "+Inf" else { return }
        histogram.record(nanoseconds: bound + 1)
        #expect(histogram.reading.counts[bucket + 1] == 1)
    }

    @Test func `a histogram's buckets hold all that is below their bound`() throws {
        let histogram = LatencyHistogram()
        for time in [50_000, 60_000, 2_000_000, 20_000_000_000] as [UInt64] { histogram.record(nanoseconds: time) }
        var text = MetricsText()
        text.write(.requestSeconds) { $0.add(["ready"], histogram.reading) }
        let page = try Exposition(parsing: String(decoding: text.bytes, as: UTF8.self))
        for (bound, count) in [("0.0001", 2.0), ("0.001", 2), ("0.0025", 3), ("10", 3), ("+Inf", 4)] {
            #expect(page.value("merchant_request_seconds_bucket", ["operation": "ready", "le": bound]) == count)
        }
        #expect(page.value("merchant_request_seconds_count", ["operation": "ready"]) == 4)
        #expect(page.value("merchant_request_seconds_sum", ["operation": "ready"]) == 20.00211)
    }

    @Test func `a loop's delay is the greatest since somebody asked, and that of a stuck one grows`() {
        func moment(_ milliseconds: Int64) -> Monotonic { Monotonic(nanoseconds: milliseconds * 1_000_000) }
        let gauge = LoopGauge()
        #expect(gauge.read(at: moment(0)).delayMax == .zero)
        gauge.note([], at: moment(0))
        gauge.note([], at: moment(1_070))
        gauge.note([], at: moment(2_080))
        #expect(gauge.read(at: moment(2_500)).delayMax == .milliseconds(70))
        #expect(gauge.read(at: moment(2_600)).delayMax == .zero)
        // The next second was due at 3080, and it has not come.
        #expect(gauge.read(at: moment(8_080)).delayMax == .seconds(5))
        gauge.note([], at: moment(9_080))
        #expect(gauge.read(at: moment(9_081)).delayMax == .seconds(6))
    }

    @Test func `the process is looked at as the system sees it`() throws {
        let memory = try #require(ProcessFigures.residentBytes)
        #expect((1_000_000..<100_000_000_000).contains(memory))
        let descriptors = try #require(ProcessFigures.openDescriptors)
        #expect(try (3...#require(ProcessFigures.descriptorsMax)).contains(descriptors))
        #expect(ProcessFigures.cpuTime > .zero)
        let started = try #require(ProcessFigures.startTime)
        let age = Duration.microseconds(WallClock.now().microsecondsSince1970) - started
        // The clock of ticks is good to a hundredth of a second, and no test runs in the second after the boot.
        let uptime = try SmallFile.read("/proc/uptime").prefix { $0 != UInt8(ascii: " ") }
        let sinceBoot = try #require(Double(String(decoding: uptime, as: UTF8.self)))
        #expect((.milliseconds(-20)..<Duration.seconds(sinceBoot - 1)).contains(age))
    }

    @Test func `the documentation lists every metric as it is`() throws {
        let rows = Metric.allCases.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }
        let shown = try Guide.lines(of: "docs/metrics.md").filter {
            $0.hasPrefix("| `merchant_") || $0.hasPrefix("| `process_")
        }
        #expect(shown == rows, "docs/metrics.md should have:\n\(rows.joined(separator: "\n"))")
    }
}

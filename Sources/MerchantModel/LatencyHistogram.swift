import Synchronization

/// How long answers took, counted in fixed buckets by any number of threads at once, without a lock.
package final class LatencyHistogram: Sendable {

    package init() {}
    /// Each bucket's upper bound in seconds, as the label `le` shows it; the last has none. From what is answered from
    /// memory to what Belvo takes before we give up.
    package static let bounds: InlineArray<16, StaticString> = [
        "0.0001", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
        "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf",
    ]
    /// The same in nanoseconds. Plain numbers, because they are compared with every answer.
    private static let boundNanoseconds: InlineArray<16, UInt64> = [
        100_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, .max,
    ]

    private let buckets = InlineArray<16, Atomic<UInt64>> { _ in Atomic(0) }
    private let sum = Atomic<UInt64>(0)

    /// Two additions: the sums are computed when the page is read.
    package func record(nanoseconds: UInt64) {
        var bucket = 0
        // It ends at the last bound at the latest.
        while nanoseconds > Self.boundNanoseconds[bucket] { bucket += 1 }
        buckets[bucket].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(nanoseconds, ordering: .relaxed)
    }

    /// The counts up to a moment. Answers given meanwhile may be in one of the two and not in the other.
    package struct Reading: Sendable, Equatable {
        package let counts: [UInt64]
        package let sumNanoseconds: UInt64
    }

    package var reading: Reading {
        Reading(
            counts: buckets.indices.map { buckets[$0].load(ordering: .relaxed) },
            sumNanoseconds: sum.load(ordering: .relaxed))
    }
}

import Glibc

/// A moment on the machine's monotonic clock, which no change of the time of day moves.
///
/// Wraps `clock_gettime(CLOCK_MONOTONIC)`. It means nothing on another machine or after a restart.
public struct Monotonic: Comparable, Hashable, Sendable {
    public let nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The present moment.
    public static func now() -> Monotonic {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Monotonic(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    public static func < (left: Monotonic, right: Monotonic) -> Bool { left.nanoseconds < right.nanoseconds }

    /// A later moment; one too far away for the clock becomes its end.
    public static func + (moment: Monotonic, duration: Duration) -> Monotonic {
        moment.later(byNanoseconds: duration.wholeNanoseconds)
    }

    /// The same, for callers that add so often that they have read the duration once: reading one takes a long
    /// division.
    public func later(byNanoseconds interval: Int64) -> Monotonic {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(interval)
        return Monotonic(nanoseconds: overflow ? .max : sum)
    }

    /// The time from the second moment to the first.
    public static func - (left: Monotonic, right: Monotonic) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, cut off at the ends of `Int64` (292 years).
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }
}

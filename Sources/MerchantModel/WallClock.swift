import Glibc
import Payments

/// The time of day on this machine: for ids and for what tokens say, never for a deadline.
package enum WallClock {
    /// Wraps `clock_gettime(CLOCK_REALTIME)`.
    @Sendable package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microsecondsSince1970: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

extension Timestamp {
    package var secondsSince1970: Int64 { microsecondsSince1970 / 1_000_000 }
}

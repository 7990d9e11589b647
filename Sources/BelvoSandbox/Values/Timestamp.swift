import Glibc

/// A moment, in microseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Whole microseconds; negative before 1970.
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The present, by the system's clock. Wraps `clock_gettime`.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    public static func + (moment: Timestamp, span: Duration) -> Timestamp {
        Timestamp(microseconds: moment.microseconds + span.microseconds)
    }

    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .microseconds(later.microseconds - earlier.microseconds)
    }

    /// Whole seconds since 1970, as JWT claims count them (RFC 7519 §2).
    var seconds: Int64 { microseconds / 1_000_000 }

    /// ISO 8601 in UTC with microseconds, as Belvo prints it (belvo-api.md §1).
    var text: String {
        let parts = utc
        return "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
            + "T\(padded(parts.hour, 2)):\(padded(parts.minute, 2)):\(padded(parts.second, 2))"
            + ".\(padded(Int(microseconds % 1_000_000), 6))Z"
    }

    /// `YYYY-MM-DD` in UTC.
    var day: String { String(text.prefix(10)) }

    /// `yyyyMMddHHmm` in UTC, as an EndToEndId spells it (belvo-api.md §9).
    var minute: String {
        let parts = utc
        return padded(parts.year, 4) + padded(parts.month, 2) + padded(parts.day, 2) + padded(parts.hour, 2)
            + padded(parts.minute, 2)
    }

    /// Wraps `gmtime_r`.
    private var utc: (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        var count = time_t(seconds)
        var parts = tm()
        gmtime_r(&count, &parts)
        return (
            Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
            Int(parts.tm_min), Int(parts.tm_sec)
        )
    }

    private func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Duration {
    /// Whole microseconds, cut off towards zero.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}

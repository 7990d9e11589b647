/// A moment in UTC, to the microsecond, within the years 0000 to 9999 that RFC 3339 can write.
///
/// Leap seconds are not counted, as in POSIX and PostgreSQL.
public struct Timestamp: Hashable, Sendable {
    public let microsecondsSince1970: Int64

    /// Takes a number of microseconds since 1970-01-01T00:00:00Z. What lies before the year 0000 or after
    /// 9999, such as PostgreSQL's `infinity`, becomes the first or last moment that can be written.
    public init(microsecondsSince1970 microseconds: Int64) {
        microsecondsSince1970 = min(max(microseconds, Timestamp.range.lowerBound), Timestamp.range.upperBound)
    }

    public static let earliest = Timestamp(microsecondsSince1970: .min)
    public static let latest = Timestamp(microsecondsSince1970: .max)

    /// From 0000-01-01T00:00:00.000000Z to 9999-12-31T23:59:59.999999Z.
    static let range: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999

    static let microsecondsPerSecond: Int64 = 1_000_000
    static let microsecondsPerDay: Int64 = 86_400 * microsecondsPerSecond

    /// The moment's day in UTC.
    var date: CalendarDate {
        let (days, rest) = microsecondsSince1970.quotientAndRemainder(dividingBy: Timestamp.microsecondsPerDay)
        return CalendarDate(daysSince1970: rest < 0 ? days - 1 : days)
    }

    /// Microseconds since the moment's day began.
    var microsecondsOfDay: Int64 {
        let rest = microsecondsSince1970 % Timestamp.microsecondsPerDay
        return rest < 0 ? rest + Timestamp.microsecondsPerDay : rest
    }
}

extension Timestamp: Comparable {
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microsecondsSince1970 < right.microsecondsSince1970
    }
}

extension Timestamp {
    /// The moment so much later; parts of a microsecond are dropped. A sum past the last moment is the last
    /// moment, since a deadline too far away to write is one that never comes.
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = moment.microsecondsSince1970.addingReportingOverflow(duration.wholeMicroseconds)
        return Timestamp(microsecondsSince1970: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    public static func - (moment: Timestamp, duration: Duration) -> Timestamp {
        let (rest, overflow) = moment.microsecondsSince1970.subtractingReportingOverflow(duration.wholeMicroseconds)
        return Timestamp(microsecondsSince1970: overflow ? (duration < .zero ? .max : .min) : rest)
    }

    /// How much later the left moment is; negative when it is the earlier one.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .microseconds(later.microsecondsSince1970 - earlier.microsecondsSince1970)
    }

    public static func += (moment: inout Timestamp, duration: Duration) { moment = moment + duration }
    public static func -= (moment: inout Timestamp, duration: Duration) { moment = moment - duration }
}

extension Duration {
    /// Microseconds with parts of one dropped, held within 64 bits.
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: Timestamp.microsecondsPerSecond)
        let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflow || carry ? (seconds < 0 ? .min : .max) : sum
    }
}

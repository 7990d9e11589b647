import HTTP

/// The `Retry-After` field (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The longest wait that is believed. A field that asks for more would switch us off.
    static let secondsMax: Int64 = 3600

    /// Seconds as they stand, or a date measured against the answer's own `Date`, so that no clock of ours
    /// is needed and none has to be right. Anything else is as if it were not there.
    package static func read(_ headers: Headers) -> Duration? {
        guard let field = headers["retry-after"] else { return nil }
        if !field.isEmpty, field.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
            // Digits that do not fit into 64 bits ask for more than the most.
            return .seconds(min(Int64(field) ?? secondsMax, secondsMax))
        }
        guard let then = seconds(field), let now = headers["date"].flatMap(seconds) else { return nil }
        return .seconds(min(max(then - now, 0), secondsMax))
    }

    /// The seconds since 1970 of an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    private static func seconds(_ date: String) -> Int64? {
        let words = date.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: words[2]) else { return nil }
        let time = words[4].split(separator: ":").compactMap { UInt8($0) }
        guard let day = UInt8(words[1]), let year = UInt16(words[3]), time.count == 3 else { return nil }
        guard (1...31).contains(day), time[0] < 24, time[1] < 60, time[2] <= 60 else { return nil }
        return days(year: Int64(year), month: Int64(month) + 1, day: Int64(day)) * 86_400
            + Int64(time[0]) * 3600 + Int64(time[1]) * 60 + Int64(time[2])
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March
    /// so that the leap day comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }
}

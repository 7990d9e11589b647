extension Timestamp: CustomStringConvertible {
    /// The moment in the one spelling that the API writes: `2026-11-21T03:40:00.123456Z`.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(27)
        let seconds = microsecondsOfDay / Timestamp.microsecondsPerSecond
        date.append(to: &text)
        text.append(UInt8(ascii: "T"))
        ASCII.append(seconds / 3600, width: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        ASCII.append(seconds / 60 % 60, width: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        ASCII.append(seconds % 60, width: 2, to: &text)
        text.append(UInt8(ascii: "."))
        ASCII.append(microsecondsOfDay % Timestamp.microsecondsPerSecond, width: 6, to: &text)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }
}

extension Timestamp {
    /// Reads an RFC 3339 date and time (§5.6): `T` and `Z` in upper case, any offset or `Z`, a fraction of one
    /// to nine digits or none. Digits past the microsecond are dropped.
    ///
    /// A leap second (`:60`) is refused, because nothing here could hold it.
    public init(_ text: some StringProtocol) throws(Fault) {
        var cursor = ASCIICursor(text)
        guard let date = CalendarDate(from: &cursor), cursor.take("T"),
            let hour = cursor.number(digits: 2), hour < 24, cursor.take(":"),
            let minute = cursor.number(digits: 2), minute < 60, cursor.take(":"),
            let second = cursor.number(digits: 2), second < 60,
            let fraction = Timestamp.fraction(from: &cursor),
            let offset = Timestamp.offset(from: &cursor), cursor.isAtEnd
        else { throw .malformed }
        let seconds = date.daysSince1970 * 86_400 + Int64((hour * 60 + minute - offset) * 60 + second)
        let microseconds = seconds * Timestamp.microsecondsPerSecond + fraction
        // Within a day of the year 0000 or 9999 an offset leads out of it.
        guard Timestamp.range.contains(microseconds) else { throw .malformed }
        self.init(microsecondsSince1970: microseconds)
    }

    /// Why a text is no moment.
    public enum Fault: ValueFault, CaseIterable {
        case malformed

        public var code: String { "malformed" }
        public var message: String {
            "A time is written as RFC 3339 has it, such as 2026-11-21T03:40:00.123456Z."
        }
    }

    /// Reads the fraction of a second, which may be missing, in microseconds.
    private static func fraction(from cursor: inout ASCIICursor) -> Int64? {
        guard cursor.take(".") else { return 0 }
        var (microseconds, digits): (Int64, Int) = (0, 0)
        while let digit = cursor.take(where: ASCII.isDigit) {
            digits += 1
            if digits <= 6 { microseconds = microseconds * 10 + Int64(digit - ASCII.zero) }
        }
        guard (1...9).contains(digits) else { return nil }
        for _ in 0..<max(0, 6 - digits) { microseconds *= 10 }
        return microseconds
    }

    /// Reads the distance from UTC in minutes, positive to the east.
    private static func offset(from cursor: inout ASCIICursor) -> Int? {
        if cursor.take("Z") { return 0 }
        let isWest = cursor.take("-")
        guard isWest || cursor.take("+"),
            let hours = cursor.number(digits: 2), hours < 24, cursor.take(":"),
            let minutes = cursor.number(digits: 2), minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}

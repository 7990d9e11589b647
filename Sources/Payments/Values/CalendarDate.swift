/// A day of the Gregorian calendar, in the years 0000 to 9999 that RFC 3339 can write.
///
/// Internal arithmetic for the values that show a date; it knows nothing of time zones.
struct CalendarDate: Hashable, Sendable {
    let year: Int
    let month: Int
    let day: Int

    /// The day, or nil when the calendar has no such one.
    init?(year: Int, month: Int, day: Int) {
        guard (0...9999).contains(year), (1...12).contains(month),
            (1...CalendarDate.length(ofMonth: month, year: year)).contains(day)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is so many days after 1970-01-01, and lies in the permitted years.
    ///
    /// Years are counted from March here, so that the leap day is a year's last and every month begins at
    /// a fixed distance from the year's start.
    init(daysSince1970: Int64) {
        let days = Int(daysSince1970) + CalendarDate.daysBefore1970
        // 400 years have 146,097 days; the day before such a cycle ends would count as its year 400.
        let (cycle, dayOfCycle) = (days / 146_097, days % 146_097)
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        day = dayOfYear - CalendarDate.daysBeforeMonth(fromMarch: monthFromMarch) + 1
        year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0) - CalendarDate.yearsShifted
    }

    var daysSince1970: Int64 {
        let yearFromMarch = year + CalendarDate.yearsShifted - (month <= 2 ? 1 : 0)
        let monthFromMarch = (month + 9) % 12
        let days =
            365 * yearFromMarch + yearFromMarch / 4 - yearFromMarch / 100 + yearFromMarch / 400
            + CalendarDate.daysBeforeMonth(fromMarch: monthFromMarch) + day - 1
        return Int64(days - CalendarDate.daysBefore1970)
    }

    /// Reads `YYYY-MM-DD` and moves the cursor over it.
    init?(from cursor: inout ASCIICursor) {
        guard let year = cursor.number(digits: 4), cursor.take("-"),
            let month = cursor.number(digits: 2), cursor.take("-"),
            let day = cursor.number(digits: 2)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Appends `YYYY-MM-DD`.
    func append(to text: inout [UInt8]) {
        ASCII.append(Int64(year), width: 4, to: &text)
        text.append(UInt8(ascii: "-"))
        ASCII.append(Int64(month), width: 2, to: &text)
        text.append(UInt8(ascii: "-"))
        ASCII.append(Int64(day), width: 2, to: &text)
    }

    /// A whole cycle by which years are moved, so that none before March of the year 0000 is negative.
    private static let yearsShifted = 400

    /// Days from 1 March of the year −400 to 1 January 1970.
    private static let daysBefore1970 = 719_468 + 146_097

    /// Months from March have 31, 30, 31, 30, 31 days, twice over and then begun again: 153 days in five.
    private static func daysBeforeMonth(fromMarch month: Int) -> Int { (153 * month + 2) / 5 }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

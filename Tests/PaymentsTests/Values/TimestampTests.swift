import Payments
import Testing

struct TimestampTests {
    @Test(arguments: [
        "",
        "2026-11-21",
        "2026-11-21T03:40:00",
        "2026-11-21 03:40:00Z",
        "2026-11-21t03:40:00Z",
        "2026-11-21T03:40:00z",
        "2026-11-21T03:40:00.Z",
        "2026-11-21T03:40:00,5Z",
        "2026-11-21T03:40:00.1234567890Z",
        "2026-11-21T03:40Z",
        "2026-11-21T3:40:00Z",
        "2026-11-21T03:40:00ZZ",
        " 2026-11-21T03:40:00Z",
        "2026-11-21T03:40:00Z\n",
        "2026-11-21T24:00:00Z",
        "2026-11-21T03:60:00Z",
        "2026-12-31T23:59:60Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-11-00T00:00:00Z",
        "26-11-21T03:40:00Z",
        "12026-11-21T03:40:00Z",
        "-026-11-21T03:40:00Z",
        "2026-11-21T03:40:00+0300",
        "2026-11-21T03:40:00+03",
        "2026-11-21T03:40:00+24:00",
        "2026-11-21T03:40:00+03:60",
        "2026-11-21T03:40:00−03:00",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "٢٠٢٦-11-21T03:40:00Z",
    ])
    func `what RFC 3339 does not write is refused`(text: String) {
        #expect(throws: Timestamp.Fault.malformed) { try Timestamp(text) }
    }

    // The microseconds were computed by another program (GNU date).
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z"),
            ("1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"),
            ("2024-11-26T11:20:57.389056Z", 1_732_620_057_389_056, "2024-11-26T11:20:57.389056Z"),
            ("2024-11-26T08:20:57.389056-03:00", 1_732_620_057_389_056, "2024-11-26T11:20:57.389056Z"),
            ("2024-11-26T16:50:57.389056+05:30", 1_732_620_057_389_056, "2024-11-26T11:20:57.389056Z"),
            ("2024-11-26T11:20:57.5-00:00", 1_732_620_057_500_000, "2024-11-26T11:20:57.500000Z"),
            ("2024-11-26T11:20:57.000001Z", 1_732_620_057_000_001, "2024-11-26T11:20:57.000001Z"),
            ("2024-11-26T11:20:57.123456789Z", 1_732_620_057_123_456, "2024-11-26T11:20:57.123456Z"),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000_000, "2024-02-29T12:00:00.000000Z"),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            ("2000-03-01T00:00:00Z", 951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
            ("0001-03-01T00:00:00Z", -62_130_499_200_000_000, "0001-03-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ] as [(String, Int64, String)])
    func `a moment is read exactly and written in one spelling`(
        text: String, microseconds: Int64, written: String
    ) throws {
        let moment = try Timestamp(text)
        #expect(moment.microsecondsSince1970 == microseconds)
        #expect(moment.description == written)
        #expect(Timestamp(microsecondsSince1970: microseconds) == moment)
    }

    @Test func `every day of a whole Gregorian cycle follows the one before it`() throws {
        let start = try Timestamp("1799-12-31T12:00:00Z")
        var previous = ""
        for number in 0..<146_097 {
            let moment = start + .seconds(number * 86_400)
            let text = moment.description
            if text <= previous { Issue.record("\(text) after \(previous)") }
            if try Timestamp(text) != moment { Issue.record("\(text) is read as another day") }
            previous = text
        }
        #expect(previous == "2199-12-30T12:00:00.000000Z")
    }

    @Test func `what lies outside the years that can be written is held at their edge`() {
        #expect(Timestamp(microsecondsSince1970: .min).description == "0000-01-01T00:00:00.000000Z")
        #expect(Timestamp(microsecondsSince1970: .max).description == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp.latest + .seconds(Int64.max) == .latest)
        #expect(Timestamp.earliest + .seconds(Int64.min) == .earliest)
        #expect(Timestamp.latest - .seconds(Int64.min) == .latest)
        #expect(Timestamp.earliest - .seconds(Int64.max) == .earliest)
    }

    @Test func `durations lead from one moment to another and back`() throws {
        let start = try Timestamp("2026-12-31T23:59:59.999999Z")
        let end = start + .microseconds(1)
        #expect(end.description == "2027-01-01T00:00:00.000000Z")
        #expect(end - start == .microseconds(1))
        #expect(start - end == .microseconds(-1))
        #expect(end - .microseconds(1) == start)
        #expect(start + .nanoseconds(999) == start)
        #expect(start + .milliseconds(-1500) < start)
        #expect(Timestamp.latest - Timestamp.earliest == .microseconds(315_569_519_999_999_999))
    }
}

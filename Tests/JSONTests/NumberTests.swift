import JSON
import Testing

/// RFC 8259 §6.
struct NumberTests {
    @Test(arguments: [
        Refused("-", .unexpectedEnd, at: 1),
        Refused("[-]", .digitExpected, at: 2),
        Refused("--1", .digitExpected, at: 1),
        Refused("+1", .valueExpected, at: 0),
        Refused(".5", .valueExpected, at: 0),
        Refused("-.5", .digitExpected, at: 1),
        Refused("1.", .unexpectedEnd, at: 2),
        Refused("[1.]", .digitExpected, at: 3),
        Refused("1.e5", .digitExpected, at: 2),
        Refused("1..5", .digitExpected, at: 2),
        Refused("1.5.5", .trailingBytes, at: 3),
        Refused("01", .leadingZero, at: 0),
        Refused("-01", .leadingZero, at: 1),
        Refused("00", .leadingZero, at: 0),
        Refused("00.5", .leadingZero, at: 0),
        Refused("1e", .unexpectedEnd, at: 2),
        Refused("1e+", .unexpectedEnd, at: 3),
        Refused("[1E-]", .digitExpected, at: 4),
        Refused("1e1.5", .trailingBytes, at: 3),
        Refused("1e1e1", .trailingBytes, at: 3),
        Refused("1e+-1", .digitExpected, at: 3),
        Refused("0x1F", .trailingBytes, at: 1),
        Refused("1_000", .trailingBytes, at: 1),
        Refused("1,5", .trailingBytes, at: 1),
        Refused("1 000", .trailingBytes, at: 2),
        Refused("1f", .trailingBytes, at: 1),
        Refused("-Infinity", .digitExpected, at: 1),
        Refused("\u{FF11}", .valueExpected, at: 0),
        Refused("1\u{661}", .trailingBytes, at: 1),
    ])
    func `what is no number is refused`(text: Refused) {
        #expect(text.surprise == nil)
    }

    @Test(arguments: [
        "0", "-0", "7", "-7", "10", "0.0", "1.10", "-0.10", "1e5", "1E5", "1e+5", "1E-05", "0e0", "1.5e000000000000007",
        "123456789012345678901234567890.123456789012345678901234567890", "1e999", "-1E-999", "0.1e1",
    ])
    func `a number keeps its exact text`(number: String) throws {
        #expect(try parse(number).numberText == number)
        #expect(try parse("[\(number) ]").elements.map(\.numberText) == [number])
        #expect(try parse("{\"a\":\(number)}")["a"]?.numberText == number)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999999999",
        "1.0", "1.5", "1e0", "1E2", "-0.0", "0e5",
    ])
    func `a number that is no integer of 64 bits has no such value, but its text`(number: String) throws {
        #expect(try parse(number).int64 == nil)
        #expect(try parse(number).numberText == number)
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("1990", 1990), ("9223372036854775807", Int64.max),
        ("-9223372036854775808", Int64.min), ("9007199254740993", 9_007_199_254_740_993),
    ])
    func `an integer is exact to its last digit`(number: String, value: Int64) throws {
        #expect(try parse(number).int64 == value)
    }

    @Test func `what is no number has neither value nor text`() throws {
        for other in try parse(#"["1",true,null,[1],{"a":1}]"#).elements {
            #expect(other.int64 == nil)
            #expect(other.numberText == nil)
        }
    }
}

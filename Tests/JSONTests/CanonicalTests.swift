import JSON
import Testing

struct CanonicalTests {
    @Test(arguments: [
        ("1", "2"), ("1", "-1"), ("1", "10"), ("1", "0.1"), ("1", "\"1\""), ("1", "[1]"), ("0", "null"), ("0", "false"),
        ("\"\"", "null"), ("[]", "{}"), ("[]", "[[]]"), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[[1],2]", "[[1,2]]"),
        ("{\"a\":1}", "{\"a\":2}"), ("{\"a\":1}", "{\"b\":1}"), ("{\"a\":1}", "{\"a\":1,\"b\":1}"),
        ("{\"a\":{\"b\":1}}", "{\"a\":{},\"b\":1}"), ("\"a\"", "\"A\""), ("\"a\"", "\"a \""),
        // Closer than doubles can tell apart.
        ("9007199254740993", "9007199254740992"), ("0.1", "0.1000000000000000055511151231257827"), ("1e999", "2e999"),
        ("1e-999", "0"),
        // For Swift's `==` these texts are one.
        ("\"\u{E9}\"", "\"e\u{301}\""), ("\"K\"", "\"\u{212A}\""),
    ])
    func `values that mean different things are different`(one: String, other: String) throws {
        #expect(try parse(one) != parse(other))
        #expect(try parse(one).canonicalBytes() != parse(other).canonicalBytes())
    }

    @Test(arguments: [
        ("1", ["1.0", "1e0", "10e-1", "0.1e1", "1.000", "1E+0", "1000e-3", "0.0001E+0004"]),
        ("15e-1", ["1.5", "1.50", "0.15e1", "150E-2"]),
        ("1e2", ["100", "1E2", "100.00", "1e+002"]),
        ("0", ["-0", "0.0", "0e5", "-0.00E-7", "0e999"]),
        ("-105e-3", ["-0.105", "-1.05e-1", "-105E-3"]),
        ("1e999", ["10e998", "1e+0999", "1000E0996"]),
        ("12345678901234567890123", ["12345678901234567890123.0", "1234567890123456789012.3e1"]),
        (#""A/é\"\\\n\u0001""#, [#""\u0041\/\u00e9\u0022\u005c\u000A\u0001""#, #""A/\u00E9\"\\\n\u0001""#]),
        (#""😀""#, [#""\ud83d\ude00""#]),
        ("[]", ["[ ]", " []\n"]),
        ("[1,[],{}]", ["[ 1.0 , [ ] , { } ]"]),
        (#"{"a":1,"b":{"c":[true,null]},"é":2}"#, [#"{ "\u00e9":2.0, "b":{"c" : [true,null]}, "\u0061":1 }"#]),
        // Ordered by bytes: a shorter name first, capitals before small letters, what was escaped by what it means.
        (#"{"":0,"A":0,"a":0,"aa":0,"b":0,"z":0,"é":0}"#, [#"{"z":0,"\u00e9":0,"b":0,"aa":0,"a":0,"\u0041":0,"":0}"#]),
    ])
    func `values that mean the same have one canonical text`(canonical: String, spellings: [String]) throws {
        let value = try parse(canonical)
        #expect(text(value.canonicalBytes()) == canonical)
        for spelling in spellings {
            let other = try parse(spelling)
            #expect(text(other.canonicalBytes()) == canonical)
            #expect(other == value)
        }
    }

    @Test func `part of a document has the canonical text of its own`() throws {
        let value = try parse(#"{"x":[{"b":1,"a":2.0}],"y":0}"#)
        #expect(text(value["x"]?.canonicalBytes() ?? []) == #"[{"a":2,"b":1}]"#)
        #expect(try value["y"] == parse("0.0"))
    }

    @Test func `a canonical number is never longer than six bytes more than what was written`() throws {
        for number in ["1e999", "-1e-999", "0.1", "1000000", String(repeating: "9", count: 1_000), "1.5E+007"] {
            #expect(try parse(number).canonicalBytes().count <= number.utf8.count + 6)
        }
    }
}

import JSON
import Testing

/// RFC 8259 §4: the names within an object should be unique; here they must be.
struct RepeatedNameTests {
    @Test(arguments: [
        Refused(#"{"a":1,"a":1}"#, .repeatedName, at: 7),
        Refused(#"{"a":1,"b":2,"a":3}"#, .repeatedName, at: 13),
        Refused(#"{"":1,"":2}"#, .repeatedName, at: 6),
        Refused(#"[{"x":{"a":1,"a":2}}]"#, .repeatedName, at: 13),
        Refused(#"{"a":{"b":1},"c":[1,2],"a":null}"#, .repeatedName, at: 23),
        // Equal only once the escapes are resolved.
        Refused(#"{"a":1,"\u0061":2}"#, .repeatedName, at: 7),
        Refused(#"{"\u0061":1,"a":2}"#, .repeatedName, at: 12),
        Refused(#"{"\u00e9":1,"é":2}"#, .repeatedName, at: 12),
        Refused(#"{"\u00e9":1,"\u00E9":2}"#, .repeatedName, at: 12),
        Refused(#"{"\ud83d\ude00":1,"😀":2}"#, .repeatedName, at: 18),
        Refused(#"{"a\/b":1,"a/b":2}"#, .repeatedName, at: 10),
        Refused(#"{"\n":1,"\u000a":2}"#, .repeatedName, at: 8),
        // The first one that repeats is named.
        Refused(#"{"a":1,"b":1,"b":2,"a":2}"#, .repeatedName, at: 13),
    ])
    func `a name that its object has already is refused where it stands again`(text: Refused) {
        #expect(text.surprise == nil)
    }

    @Test func `a repeated name is found in objects of every size`() {
        for count in 1...200 {
            for repeated in Set([0, count / 2, count - 1]) {
                let names = (0..<count).map { "\"n\($0)\":0" } + ["\"n\(repeated)\":1"]
                let refused = refusal(of: "{\(names.joined(separator: ","))}")
                #expect(refused?.reason == .repeatedName)
                #expect(refused?.offset == 2 + names.dropLast().joined(separator: ",").utf8.count)
            }
        }
    }

    @Test(arguments: [
        #"{"a":1,"A":2}"#, #"{"a":1,"a ":2}"#, #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":"a","b":"a"}"#,
        #"{"ab":1,"ba":2,"aab":3,"abb":4}"#, #"{"\\u0061":1,"a":2}"#,
    ])
    func `names that differ, or belong to different objects, may stand together`(json: String) {
        #expect(refusal(of: json) == nil)
    }

    @Test func `names that only look the same are two`() throws {
        // For Swift's `==` they are one: composed and decomposed é, the Kelvin sign and K.
        let value = try parse("{\"\u{E9}\":1,\"e\u{301}\":2,\"\u{212A}\":3,\"K\":4}")
        #expect(value["\u{E9}"]?.int64 == 1)
        #expect(value["e\u{301}"]?.int64 == 2)
        #expect(value["\u{212A}"]?.int64 == 3)
        #expect(value["K"]?.int64 == 4)
    }
}

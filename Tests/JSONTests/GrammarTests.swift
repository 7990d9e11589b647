import JSON
import Testing

/// RFC 8259 §§2, 3, 4, 5 and 8.1: what a text is made of.
struct GrammarTests {
    @Test(arguments: [
        // §2: a text is one value …
        Refused("", .unexpectedEnd, at: 0),
        Refused(" \n\t\r", .unexpectedEnd, at: 4),
        Refused("1 2", .trailingBytes, at: 2),
        Refused("null null", .trailingBytes, at: 5),
        Refused("{}}", .trailingBytes, at: 2),
        Refused("[] ,", .trailingBytes, at: 3),
        Refused("\"a\"\"b\"", .trailingBytes, at: 3),
        Refused("{}\u{0}", .trailingBytes, at: 2),
        // … with only these four characters around it …
        Refused("\u{B}1", .valueExpected, at: 0),
        Refused("\u{C}1", .valueExpected, at: 0),
        Refused("\u{0}", .valueExpected, at: 0),
        Refused("\u{A0}1", .valueExpected, at: 0),
        Refused("1\u{2028}", .trailingBytes, at: 1),
        // … and no comments.
        Refused("/**/1", .valueExpected, at: 0),
        Refused("1 // one", .trailingBytes, at: 2),
        Refused("[1,/**/2]", .valueExpected, at: 3),
        Refused("# 1", .valueExpected, at: 0),
        // §3: the words in lower case, and no others.
        Refused("True", .valueExpected, at: 0),
        Refused("NULL", .valueExpected, at: 0),
        Refused("tRUE", .valueExpected, at: 0),
        Refused("[false,nULL]", .valueExpected, at: 7),
        Refused("tru", .valueExpected, at: 0),
        Refused("[nul]", .valueExpected, at: 1),
        Refused("falsy", .valueExpected, at: 0),
        Refused("truefalse", .trailingBytes, at: 4),
        Refused("[true1]", .commaOrBracketExpected, at: 5),
        Refused("undefined", .valueExpected, at: 0),
        Refused("NaN", .valueExpected, at: 0),
        Refused("Infinity", .valueExpected, at: 0),
        Refused("'a'", .valueExpected, at: 0),
        Refused("a", .valueExpected, at: 0),
        // §4: objects.
        Refused("{", .unexpectedEnd, at: 1),
        Refused("{\"a\"", .unexpectedEnd, at: 4),
        Refused("{\"a\":", .unexpectedEnd, at: 5),
        Refused("{\"a\":1", .unexpectedEnd, at: 6),
        Refused("{\"a\":1,", .unexpectedEnd, at: 7),
        Refused("{\"a\":1,}", .nameExpected, at: 7),
        Refused("{,\"a\":1}", .nameExpected, at: 1),
        Refused("{\"a\":1,,\"b\":2}", .nameExpected, at: 7),
        Refused("{a:1}", .nameExpected, at: 1),
        Refused("{1:1}", .nameExpected, at: 1),
        Refused("{'a':1}", .nameExpected, at: 1),
        Refused("{null:1}", .nameExpected, at: 1),
        Refused("{{}:1}", .nameExpected, at: 1),
        Refused("{\"a\"}", .colonExpected, at: 4),
        Refused("{\"a\",1}", .colonExpected, at: 4),
        Refused("{\"a\" 1}", .colonExpected, at: 5),
        Refused("{\"a\"=1}", .colonExpected, at: 4),
        Refused("{\"a\"::1}", .valueExpected, at: 5),
        Refused("{\"a\":}", .valueExpected, at: 5),
        Refused("{\"a\":1:2}", .commaOrBraceExpected, at: 6),
        Refused("{\"a\":1 \"b\":2}", .commaOrBraceExpected, at: 7),
        Refused("{\"a\":1;\"b\":2}", .commaOrBraceExpected, at: 6),
        Refused("{\"a\":1]", .commaOrBraceExpected, at: 6),
        Refused("{]", .nameExpected, at: 1),
        Refused("}", .valueExpected, at: 0),
        // §5: arrays.
        Refused("[", .unexpectedEnd, at: 1),
        Refused("[1", .unexpectedEnd, at: 2),
        Refused("[1,", .unexpectedEnd, at: 3),
        Refused("[1,]", .valueExpected, at: 3),
        Refused("[,1]", .valueExpected, at: 1),
        Refused("[1,,2]", .valueExpected, at: 3),
        Refused("[,]", .valueExpected, at: 1),
        Refused("[1 2]", .commaOrBracketExpected, at: 3),
        Refused("[1:2]", .commaOrBracketExpected, at: 2),
        Refused("[\"a\":1]", .commaOrBracketExpected, at: 4),
        Refused("[1}", .commaOrBracketExpected, at: 2),
        Refused("[}", .valueExpected, at: 1),
        Refused("[1]]", .trailingBytes, at: 3),
        Refused("[[1],[2]", .unexpectedEnd, at: 8),
        Refused("]", .valueExpected, at: 0),
        // §8.1: UTF-8 without a mark, and no other encoding.
        Refused([0xEF, 0xBB, 0xBF, 0x31], .byteOrderMark, at: 0),
        Refused([0xEF, 0xBB], .valueExpected, at: 0),
        Refused([0xFF, 0xFE, 0x31, 0x00], .valueExpected, at: 0),
        Refused([0xFE, 0xFF, 0x00, 0x31], .valueExpected, at: 0),
        Refused([0x31, 0x00], .trailingBytes, at: 1),
        Refused([0x5B, 0xC3, 0xA9, 0x5D], .valueExpected, at: 1),
    ])
    func `what the grammar does not have is refused at its first byte`(text: Refused) {
        #expect(text.surprise == nil)
    }

    @Test(arguments: [
        ("null", JSONValue.Kind.null), (" true\n", .bool), ("false", .bool), ("0", .number), ("\"\"", .string),
        ("[]", .array), ("{}", .object), ("\t[ ]\r\n", .array), ("{ }", .object),
        ("[1 , 2\n,\r3\t]", .array), ("{ \"a\" : 1 , \"b\" : [ ] }", .object),
        ("[[],{},[[]],[{}],\"\",null]", .array), ("{\"\":0}", .object),
    ])
    func `any value may be a whole text`(json: String, kind: JSONValue.Kind) throws {
        #expect(try parse(json).kind == kind)
    }

    @Test func `every beginning of a text is refused, and never read past`() throws {
        let whole = Array(#"{"a":[1.5e+3,true,null,"\ud83d\ude00é"],"b":{"c":-0}}"#.utf8)
        #expect(refusal(of: whole) == nil)
        for length in 0..<whole.count {
            let error = try #require(refusal(of: Array(whole[..<length])))
            #expect(error.offset <= length)
        }
    }

    @Test(arguments: [("[1,\n 2,\n  x]", 10, 3, 3), ("[\"é€😀\", x]", 14, 1, 9), ("\r\n\r\nx", 4, 3, 1), ("[", 1, 1, 2)])
    func `a refusal tells line and column, counted in characters`(json: String, offset: Int, line: Int, column: Int) {
        let error = refusal(of: json)
        #expect(error?.offset == offset)
        #expect(error?.line == line)
        #expect(error?.column == column)
    }

    @Test func `every reason reads as a sentence, and none as another`() {
        let sentences = JSONSyntaxError.Reason.allCases.map(\.description)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") && $0.first?.isUppercase == true })
        #expect(Set(sentences).count == sentences.count)
        #expect(refusal(of: "\n [,]")?.description == "Line 2, column 3: A value was expected.")
    }
}

import JSON
import Testing

struct WriterTests {
    @Test func `members stand in the order of the calls, with commas between`() {
        let written = JSONWriter.object {
            $0.member("z", "text")
            $0.member("none", nil)
            $0.member("some", Optional("x"))
            $0.member("int", 7)
            $0.member("int64", Int64.min)
            $0.member("yes", true)
            $0.member("no", false)
            $0.memberNull("null")
            $0.memberObject("empty") { _ in }
            $0.memberObject("object") {
                $0.member("a", 1)
                $0.memberArray("b") { _ in }
            }
            $0.memberArray("array") {
                $0.element("e")
                $0.element(nil)
                $0.element(Int64.max)
                $0.element(0)
                $0.element(true)
                $0.elementRaw("1.50".utf8)
                $0.object { $0.member("x", 1) }
                $0.object { _ in }
                $0.array { $0.array { _ in } }
            }
            $0.memberRaw("raw", Array(#"{"k" : 1.10}"#.utf8)[...])
            $0.member("a", 2)
        }
        #expect(
            text(written) == """
                {"z":"text","none":null,"some":"x","int":7,"int64":-9223372036854775808,"yes":true,"no":false,\
                "null":null,"empty":{},"object":{"a":1,"b":[]},\
                "array":["e",null,9223372036854775807,0,true,1.50,{"x":1},{},[[]]],"raw":{"k" : 1.10},"a":2}
                """
        )
    }

    @Test func `a whole text may be an array, or be written step by step`() {
        #expect(text(JSONWriter.array { $0.element("a") }) == #"["a"]"#)
        var writer = JSONWriter()
        #expect(writer.bytes == [])
        writer.object { $0.member("a", -1) }
        #expect(text(writer.bytes) == #"{"a":-1}"#)
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a/b", "a/b"), ("\"", #"\""#), ("\\", #"\\"#),
        ("\n\r\t\u{8}\u{C}", #"\n\r\t\b\f"#),
        ("\u{0}\u{1}\u{1F}", #"\u0000\u0001\u001f"#), ("\u{7F}é€😀\u{2028}", "\u{7F}é€😀\u{2028}"),
        ("</script>", "</script>"), ("12345678\"", #"12345678\""#), ("\"12345678", #"\"12345678"#),
        ("a long text \n of several lines\n", #"a long text \n of several lines\n"#), ("é\"é\\é", #"é\"é\\é"#),
        (",", ","), ("[", "["), ("{:", "{:"),
    ])
    func `a string escapes what it must and nothing else`(value: String, content: String) {
        let written = JSONWriter.object {
            $0.member(value, value)
            $0.memberArray("e") {
                $0.element(value)
                $0.element(value)
            }
        }
        #expect(text(written) == "{\"\(content)\":\"\(content)\",\"e\":[\"\(content)\",\"\(content)\"]}")
    }

    @Test func `a character that must be escaped is seen wherever it stands`() throws {
        for length in 1..<40 {
            for place in 0..<length {
                for special: Character in ["\"", "\\", "\u{1F}", "é"] {
                    let value = String((0..<length).map { $0 == place ? special : "a" })
                    let written = JSONWriter.array { $0.element(value) }
                    #expect(try JSONDocument(parsing: written).root.elements.map(\.string) == [value])
                    #expect(!written.contains(0x1F))
                }
            }
        }
    }

    @Test func `a text grows while it is written, wherever its room ends`() {
        for length in 920..<980 {
            for (piece, written) in [("a", "a"), ("\"", #"\""#), ("\u{1}", #"\u0001"#), ("é", "é")] {
                let array = JSONWriter.array {
                    $0.element(String(repeating: "b", count: length))
                    $0.element(String(repeating: piece, count: length))
                    $0.element(Int64.min)
                    $0.element(true)
                    $0.elementRaw("[1]".utf8)
                    $0.object { $0.member(piece, nil) }
                }
                let expected = """
                    ["\(String(repeating: "b", count: length))","\(String(repeating: written, count: length))",\
                    -9223372036854775808,true,[1],{"\(written)":null}]
                    """
                #expect(text(array) == expected)
            }
        }
    }

    @Test(arguments: [0, 1, -1, 9, 10, 99, 100, 1990, -123_456_789, Int64.max, Int64.min, Int64.min + 1])
    func `an integer is written to its last digit`(value: Int64) {
        #expect(text(JSONWriter.array { $0.element(value) }) == "[\(value)]")
    }

    @Test func `what a body throws comes out`() {
        struct Stop: Error {}
        #expect(throws: Stop.self) { try JSONWriter.object { try $0.memberArray("a") { _ in throw Stop() } } }
    }
}

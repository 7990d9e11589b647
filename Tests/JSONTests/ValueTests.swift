import JSON
import Testing

struct ValueTests {
    @Test func `a question that does not suit the kind answers nothing`() throws {
        let values = Array(try parse(#"[null,true,1,"s",[0],{"a":0}]"#).elements)
        #expect(values.map(\.kind) == [.null, .bool, .number, .string, .array, .object])
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.int64) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.numberText) == [nil, nil, "1", nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, "s", nil, nil])
        #expect(values.map { Array($0.elements).count } == [0, 0, 0, 0, 1, 0])
        #expect(values.map { Array($0.members).count } == [0, 0, 0, 0, 0, 1])
        #expect(values.map { $0["a"] != nil } == [false, false, false, false, false, true])
    }

    @Test func `members are found by name and listed as written`() throws {
        let value = try parse(#"{"b":1,"a":{"b":2,"x":[{"b":3}]},"c":[1,2],"":4,"a\"":5}"#)
        #expect(value.members.map(\.name) == ["b", "a", "c", "", "a\""])
        #expect(value["b"]?.int64 == 1)
        #expect(value["a"]?["b"]?.int64 == 2)
        #expect(value["a"]?["x"]?.elements.map { $0["b"]?.int64 } == [3])
        #expect(value["c"]?.elements.map(\.int64) == [1, 2])
        #expect(value[""]?.int64 == 4)
        #expect(value["a\""]?.int64 == 5)
        #expect(value["x"] == nil)
        #expect(value["B"] == nil)
        #expect(value["a\\\""] == nil)
    }

    @Test func `a name is found by its text, whatever its escapes`() throws {
        let value = try parse(#"{"\u0061bc":1,"\ud83d\ude00":2,"caf\u00e9":3,"\\u0061":4,"\u0078\u0079\u007a":5}"#)
        #expect(value["abc"]?.int64 == 1)
        #expect(value["😀"]?.int64 == 2)
        #expect(value["café"]?.int64 == 3)
        #expect(value["\\u0061"]?.int64 == 4)
        #expect(value["xyz"]?.int64 == 5)
        #expect(value["a"] == nil)
        #expect(value["ab"] == nil)
    }

    @Test func `names of every length are told apart in every byte`() throws {
        for length in 1..<24 {
            let name = String(repeating: "a", count: length)
            let value = try parse("{\"\(name)\":1}")
            #expect(value[name]?.int64 == 1)
            #expect(value[name + "a"] == nil)
            #expect(value[String(name.dropLast())] == nil)
            for place in 0..<length {
                let other = name.prefix(place) + "b" + name.dropFirst(place + 1)
                #expect(value[String(other)] == nil)
            }
        }
    }

    @Test(arguments: [
        #"{"a" : [1.10, "\u0041\/" ] }"#, #""\u0041""#, "1.0e+05", "null", "[ ]", "{\t}",
    ])
    func `a value's bytes are those that were written`(json: String) throws {
        #expect(text(try parse(" \n\(json)\t ").raw) == json)
        #expect(text(try parse("{\"m\": \(json) , \"n\":0}")["m"]?.raw ?? []) == json)
        #expect(try parse("[0, \(json) ]").elements.map { text($0.raw) } == ["0", json])
    }

    @Test func `a value outlives the document it came from`() throws {
        func inner() throws -> JSONValue? {
            try JSONDocument(parsing: Array(#"{"a":{"b":"a text too long to lie within a String"}}"#.utf8)).root["a"]
        }
        #expect(try inner()?["b"]?.string == "a text too long to lie within a String")
    }

    @Test func `printing a value or its document shows none of its content`() throws {
        let document = try JSONDocument(parsing: Array(#"{"secret":"hush"}"#.utf8))
        for printed in ["\(document)", "\(document.root)", String(reflecting: document.root)] {
            #expect(!printed.contains("hush"))
            #expect(!printed.contains("secret"))
        }
    }
}

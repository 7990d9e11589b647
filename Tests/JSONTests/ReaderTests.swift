import JSON
import Testing

struct ReaderTests {
    /// Runs questions on a text and gives the faults as `pointer code`.
    private func faults(_ json: String, _ read: (JSONReader) -> Void) throws -> [String] {
        let reader = JSONReader(try parse(json))
        read(reader)
        return reader.isFaultless ? [] : reader.faults.all.map { "\($0.pointer) \($0.code)" }
    }

    private enum Platform: String, CaseIterable {
        case ios = "IOS"
        case android = "ANDROID"
        case kiosk = "KIOSK"
    }

    @Test(arguments: ["null", "[]", "1", "\"a\"", "true"])
    func `a document that is no object has one fault, at its root`(json: String) throws {
        let found = try faults(json) {
            #expect($0.string("a") == nil)
            #expect($0.optionalInt64("b") == nil)
            #expect($0.object("c") == nil)
        }
        #expect(found == [" wrong_type"])
    }

    @Test func `names that only look the same are different ones`() throws {
        let names = ["\u{E9}", "e\u{301}", "\u{212A}", "K"]
        let object = names.map { "\"\($0)\":1" }.joined(separator: ",")
        let found = try faults("{\(object)}") { _ in }
        #expect(found.map { Array($0.utf8) } == names.map { Array("/\($0) unknown_member".utf8) })
    }

    @Test(arguments: ["{}", #"{"m":null}"#])
    func `a required member that is missing or null is a fault, an optional one is not`(json: String) throws {
        let required = try faults(json) {
            #expect($0.string("m") == nil)
            #expect($0.bool("m") == nil)
            #expect($0.int64("m") == nil)
            #expect($0.value("m") == nil)
            #expect($0.object("m") == nil)
            #expect($0.objects("m") == nil)
            #expect($0.oneOf("m", Platform.self) == nil)
            #expect($0.read("m") { _ in 1 } == nil)
        }
        #expect(required == ["/m required"])

        let optional = try faults(json) {
            #expect($0.optionalString("m", length: 5...9) == nil)
            #expect($0.optionalBool("m") == nil)
            #expect($0.optionalInt64("m") == nil)
            #expect($0.optionalValue("m") == nil)
            #expect($0.optionalObject("m") == nil)
            #expect($0.optionalObjects("m") == nil)
            #expect($0.optionalOneOf("m", Platform.self) == nil)
            #expect($0.readOptional("m") { _ in 1 } == nil)
        }
        #expect(optional == [])
    }

    @Test func `a member of another kind is a fault, required or not`() throws {
        let found = try faults(#"{"a":1,"b":"true","c":"1","d":1.0,"e":[],"f":{},"g":true,"h":1,"i":[{},1]}"#) {
            #expect($0.string("a") == nil)
            #expect($0.optionalBool("b") == nil)
            #expect($0.int64("c") == nil)
            #expect($0.optionalInt64("d") == nil)
            #expect($0.object("e") == nil)
            #expect($0.optionalObjects("f") == nil)
            #expect($0.oneOf("g", Platform.self) == nil)
            #expect($0.optionalObject("h") == nil)
            #expect($0.objects("i")?.count == 1)
        }
        #expect(found == "abcdefgh".map { "/\($0) wrong_type" } + ["/i/1 wrong_type"])
    }

    @Test(
        arguments: [
            (1...3, "", "too_short"), (1...3, "abcd", "too_long"), (2...2, "a", "too_short"),
            (2...2, "abc", "too_long"),
            (1...3, "ééé", nil), (1...3, "😀😀😀", nil), (1...3, "😀😀😀😀", "too_long"), (0...0, "", nil),
            (0...0, "a", "too_long"), (1...4, "e\u{301}e\u{301}", nil), (4...4, "e\u{301}e\u{301}", nil),
            (4...9, "😀😀😀", "too_short"), (4...12, "😀😀😀", "too_short"), (0...140, "abc", nil),
        ] as [(ClosedRange<Int>, String, String?)])
    func `a text's length counts its Unicode scalars`(length: ClosedRange<Int>, value: String, code: String?) throws {
        let document = try parse(text(JSONWriter.object { $0.member("m", value) }))
        for read in [JSONReader.string, JSONReader.optionalString] {
            let reader = JSONReader(document)
            #expect(read(reader)("m", length) == (code == nil ? value : nil))
            #expect(reader.isFaultless == (code == nil))
            if let code { #expect(reader.faults.all.map { [$0.pointer, $0.code] } == [["/m", code]]) }
        }
    }

    @Test(arguments: ["ios", "", " IOS", "IOS ", "WINDOWS", "\u{212A}IOS\u{212A}"])
    func `a word that is none of those allowed is a fault that lists them`(word: String) throws {
        let reader = JSONReader(try parse("{\"m\":\"\(word)\"}"))
        #expect(reader.oneOf("m", Platform.self) == nil)
        let message = "This must be one of: IOS, ANDROID, KIOSK."
        #expect(reader.faults.all == [JSONFault(pointer: "/m", code: "not_allowed", message: message)])
    }

    @Test func `all faults of a document are reported together, each in its place`() throws {
        let json = #"""
            {"name":"","amount":"1","extra":1,"risk":{"os":"X","more":{}},"items":[{"id":1},{"id":"2","x":0}]}
            """#
        let found = try faults(json) { reader in
            #expect(reader.string("name", length: 1...10) == nil)
            #expect(reader.int64("amount") == nil)
            #expect(reader.string("enrollment") == nil)
            let risk = reader.object("risk")
            #expect(risk?.oneOf("os", Platform.self) == nil)
            #expect(risk?.bool("rooted") == nil)
            #expect(reader.objects("items")?.map { $0.int64("id") } == [1, nil])
            reader.refuse("callback", code: "not_listed", "This address is not on the list.")
        }
        #expect(
            found == [
                "/name too_short", "/amount wrong_type", "/enrollment required", "/risk/os not_allowed",
                "/risk/rooted required", "/items/1/id wrong_type", "/callback not_listed",
                "/extra unknown_member", "/risk/more unknown_member", "/items/1/x unknown_member",
            ]
        )
    }

    @Test func `a member that nobody asked for is a fault, unless the rest was let through`() throws {
        #expect(try faults(#"{"a":1,"A":2}"#) { _ = $0.int64("a") } == ["/A unknown_member"])
        #expect(try faults(#"{"a":null}"#) { _ in } == ["/a unknown_member"])
        #expect(try faults(#"{"a":1,"b":{"c":1}}"#) { $0.ignoreRest() } == [])
        let inner = try faults(#"{"a":{"b":1,"c":2},"d":3}"#) { reader in
            reader.ignoreRest()
            _ = reader.object("a")?.int64("b")
        }
        #expect(inner == ["/a/c unknown_member"])
        // A member read as a value is the caller's, whatever it holds.
        #expect(try faults(#"{"a":{"b":1}}"#) { _ = $0.value("a") } == [])
    }

    @Test func `two readers of one object remember together`() throws {
        let found = try faults(#"{"a":{"b":1,"c":2,"d":3}}"#) { reader in
            #expect(reader.object("a")?.int64("b") == 1)
            #expect(reader.object("a")?.int64("c") == 2)
        }
        #expect(found == ["/a/d unknown_member"])
    }

    @Test func `a reader of a value inside a document knows nothing of what is around it`() throws {
        let root = try parse(#"{"x":[{"y":1}],"a":{"b":{"c":1},"l":[0,{"d":2}]},"z":0}"#)
        let reader = JSONReader(try #require(root["a"]))
        #expect(reader.object("b")?.string("c") == nil)
        #expect(reader.objects("l")?.map { $0.int64("e") } == [nil])
        #expect(!reader.isFaultless)
        #expect(
            reader.faults.all.map { "\($0.pointer) \($0.code)" } == [
                "/b/c wrong_type", "/l/0 wrong_type", "/l/1/e required", "/l/1/d unknown_member",
            ]
        )
    }

    @Test func `a child's answer stands for the whole document`() throws {
        let child = try #require(JSONReader(try parse(#"{"a":{"b":1},"c":2}"#)).object("a"))
        #expect(child.int64("b") == 1)
        #expect(!child.isFaultless)
        #expect(child.faults.all.map(\.pointer) == ["/c"])
    }

    @Test func `asking twice notes a fault once`() throws {
        let found = try faults(#"{"x":1}"#) { reader in
            for _ in 0..<3 {
                _ = reader.string("a")
                _ = reader.object("x")
                _ = reader.isFaultless
            }
        }
        #expect(found == ["/a required", "/x wrong_type"])
    }

    @Test func `a caller's parser decides, and its fault lands on the member`() throws {
        func even(_ value: JSONValue) throws(JSONFault) -> Int64 {
            guard let number = value.int64, number % 2 == 0 else {
                throw JSONFault(pointer: "/elsewhere", code: "odd", message: "This must be even.")
            }
            return number
        }
        let found = try faults(#"{"a":2,"b":3,"c":{"d":5}}"#) { reader in
            #expect(reader.read("a", even) == 2)
            #expect(reader.readOptional("b", even) == nil)
            #expect(reader.object("c")?.read("d", even) == nil)
        }
        #expect(found == ["/b odd", "/c/d odd"])
    }

    @Test func `a fault's pointer escapes what would divide it`() throws {
        // RFC 6901 §§3, 5.
        let found = try faults(#"{"a/b":1,"m~n":2,"":3,"~1":4,"é\"":5,"c":{"/~":6}}"#) { reader in
            _ = reader.string("a/b")
            _ = reader.object("c")?.string("/~")
        }
        #expect(
            found == [
                "/a~1b wrong_type", "/c/~1~0 wrong_type", "/m~0n unknown_member", "/ unknown_member",
                "/~01 unknown_member", "/é\" unknown_member",
            ]
        )
    }

    @Test func `faults are kept up to a bound, so that a small request has no big answer`() throws {
        let members = (0..<30_000).map { "\"unknown member \($0)\":0" }.joined(separator: ",")
        let reader = JSONReader(try parse("{\(members)}"))
        #expect(!reader.isFaultless)
        #expect(reader.faults.all.count == JSONReader.faultsMax)

        let required = try faults("{}") { reader in
            for number in 0..<1_000 { _ = reader.string("m\(number)") }
        }
        #expect(required.count == JSONReader.faultsMax)
    }

    @Test func `members beyond the sixty-fourth are remembered as well`() throws {
        let members = (0..<200).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let found = try faults("{\(members)}") { reader in
            for number in 0..<200 where number != 62 && number != 66 && number != 130 {
                #expect(reader.int64("m\(number)") == Int64(number))
            }
        }
        #expect(found == ["/m62 unknown_member", "/m66 unknown_member", "/m130 unknown_member"])
    }

    @Test func `faults asked for without reason still say something`() throws {
        #expect(JSONReader(try parse("{}")).faults.all.count == 1)
    }

    @Test func `a document without fault gives its values`() throws {
        let json = #"{"s":"x","b":false,"i":-5,"v":[1],"p":"ANDROID","o":{"s":""},"l":[{"i":1},{"i":2}],"n":null}"#
        let reader = JSONReader(try parse(json))
        #expect(reader.string("s", length: 1...1) == "x")
        #expect(reader.bool("b") == false)
        #expect(reader.int64("i") == -5)
        #expect(reader.value("v")?.kind == .array)
        #expect(reader.oneOf("p", Platform.self) == .android)
        #expect(reader.object("o")?.string("s") == "")
        #expect(reader.objects("l")?.compactMap { $0.int64("i") } == [1, 2])
        #expect(reader.optionalString("n") == nil)
        #expect(reader.isFaultless)
    }
}

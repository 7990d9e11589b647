import HTTP
import Testing

@Suite struct EntityTagTests {
    private let tag = EntityTag(digits: "abc")

    @Test(arguments: [
        #""abc""#, #"W/"abc""#, #""x", "abc""#, #""x","abc""#, #"  "abc"  "#, #", "abc" ,"#, #""a,b","abc""#, "*",
        "W/\"\",\t\"abc\"", #""é","abc""#,
    ])
    func `a client that names the tag has the resource`(field: String) throws {
        let known = try #require(IfNoneMatch(["if-none-match": field]))
        #expect(known.holds(tag))
    }

    @Test(arguments: [#""ab""#, #""ABC""#, #"W/"abcd""#, #""""#, #""W/abc""#])
    func `another tag is another state`(field: String) throws {
        let known = try #require(IfNoneMatch(["if-none-match": field]))
        #expect(!known.holds(tag))
    }

    @Test(arguments: [
        "", "abc", #""abc"#, #"abc""#, #"w/"abc""#, #"W/abc"#, #"W/ "abc""#, #""abc" "x""#, #""abc"x"#, #"*, "abc""#,
        #""abc", *"#, #""a bc""#, ",", " , ,", #"'abc'"#,
    ])
    func `what is no list of tags names none`(field: String) {
        #expect(IfNoneMatch(["if-none-match": field]) == nil)
    }

    @Test func `several fields are one list, and none is none`() throws {
        let known = try #require(IfNoneMatch(["if-none-match": #""x""#, "if-none-match": #""abc""#]))
        #expect(known.holds(tag))
        #expect(IfNoneMatch([:]) == nil)
    }

    @Test func `a tag is written between quotation marks, and holds none`() {
        #expect(tag.description == #""abc""#)
        #expect(EntityTag(#"a"b"#) == nil)
        #expect(EntityTag("a b") == nil)
        #expect(EntityTag("") != nil)
    }

    @Test func `304 is sent without a body and without its length`() {
        var bytes: [UInt8] = []
        MessageSerializer.append(Response(.notModified, headers: ["etag": #""abc""#]), answering: .get, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "HTTP/1.1 304 Not Modified\r\netag: \"abc\"\r\n\r\n")
    }
}

import JSON
import Testing

/// Texts that are grammatical and still refused (RFC 8259 §9), and what hostile texts must not cost.
struct LimitTests {
    @Test func `nesting is refused at the first container past the limit`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(refusal(of: nested(65))?.reason == .nestedTooDeep)
        #expect(refusal(of: nested(65))?.offset == 64)
        #expect(refusal(of: nested(64)) == nil)
        #expect(refusal(of: nested(20_000))?.offset == 64)
        #expect(refusal(of: String(repeating: "[", count: 20_000))?.reason == .nestedTooDeep)
        #expect(refusal(of: String(repeating: "{\"a\":", count: 20_000))?.reason == .nestedTooDeep)
        #expect(refusal(of: String(repeating: "[{\"a\":", count: 20_000))?.reason == .nestedTooDeep)

        var limits = JSONLimits()
        limits.depthMax = 0
        #expect(refusal(of: "[]", limits: limits)?.offset == 0)
        #expect(refusal(of: "1", limits: limits) == nil)
    }

    @Test func `containers side by side are not nested`() {
        #expect(refusal(of: "[" + String(repeating: "[],{},", count: 1_000) + "[]]") == nil)
    }

    @Test func `neither reading nor the canonical text recurses`() throws {
        var limits = JSONLimits()
        limits.depthMax = .max
        let depth = 300_000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let value = try parse(text, limits: limits)
        #expect(value.canonicalBytes().count == 2 * depth)
    }

    @Test func `a text longer than the limit is refused before it is looked at`() {
        var limits = JSONLimits()
        limits.bytesMax = 4
        #expect(refusal(of: "?????", limits: limits)?.reason == .textTooLong)
        #expect(refusal(of: "12345", limits: limits)?.offset == 4)
        #expect(refusal(of: "1234", limits: limits) == nil)
        limits.bytesMax = -1
        #expect(refusal(of: "1", limits: limits)?.reason == .textTooLong)
    }

    @Test func `a number longer than the limit is refused at its beginning`() throws {
        let longest = "0." + String(repeating: "1", count: 1_098)
        #expect(try parse("[\(longest)]").elements.first { _ in true }?.numberText == longest)
        #expect(refusal(of: "[\(longest)1]")?.reason == .numberTooLong)
        #expect(refusal(of: "[\(longest)1]")?.offset == 1)
        #expect(refusal(of: String(repeating: "9", count: 500_000))?.reason == .numberTooLong)
    }

    @Test(arguments: ["1e1000", "1E+1000", "1e-1000", "0e1234", "1e00001000", "1e99999999999999999999999999999"])
    func `an exponent of more than three digits is refused`(number: String) {
        #expect(refusal(of: number)?.reason == .exponentTooLarge)
        #expect(refusal(of: number)?.offset == 1)
    }

    @Test func `what is no text is replaced only where it was asked for`() throws {
        var limits = JSONLimits()
        limits.replacesWhatIsNoText = true
        let value = try parse(#"{"a\u0000b":"\u0000"}"#, limits: limits)
        #expect(value["a\u{FFFD}b"]?.string == "\u{FFFD}")
        #expect(value["a"] == nil)
        #expect(text(value.canonicalBytes()) == "{\"a\u{FFFD}b\":\"\u{FFFD}\"}")
        let halves = [
            #"\ud800"#: "\u{FFFD}", #"\udfff!"#: "\u{FFFD}!", #"\ud83d\ud83d\ude00"#: "\u{FFFD}😀",
            #"\ude00\ud83d"#: "\u{FFFD}\u{FFFD}", #"\ud83d\u0041"#: "\u{FFFD}A", #"\ud83d\n"#: "\u{FFFD}\n",
            #"\ud83d\ude00"#: "😀",
        ]
        for (escapes, read) in halves { #expect(try parse("\"\(escapes)\"", limits: limits).string == read) }
        #expect(refusal(of: #""\ud83d\ude0""#, limits: limits)?.reason == .invalidEscape)
        #expect(refusal(of: "\"\u{0}\"", limits: limits)?.reason == .controlCharacter)
    }

    @Test(.timeLimit(.minutes(1)))
    func `members by the ten thousand are read in time that grows with the text only`() throws {
        // Compared each with each, these names take minutes.
        var limits = JSONLimits()
        limits.bytesMax = 100_000_000
        let count = 50_000
        let plain = (0..<count).map { "\"member\($0)\":0" }.joined(separator: ",")
        let escaped = (0..<count).map { "\"\\u006dember\($0)\":0" }.joined(separator: ",")
        #expect(try parse("{\(plain)}", limits: limits).members.reduce(0) { count, _ in count + 1 } == count)
        #expect(refusal(of: "{\(escaped)}", limits: limits) == nil)
        #expect(refusal(of: "{\(plain),\(escaped)}", limits: limits)?.reason == .repeatedName)
    }

    @Test(.timeLimit(.minutes(1)))
    func `nested objects of many members each are not gone through again at every level`() {
        var limits = JSONLimits()
        limits.bytesMax = 100_000_000
        let members = (0..<30).map { "\"m\($0)\":0" }.joined(separator: ",")
        let inner = "[" + String(repeating: "0,", count: 200_000) + "0]"
        let text = (0..<60).reduce(inner) { value, _ in "{\(members),\"inner\":\(value)}" }
        #expect(refusal(of: text, limits: limits) == nil)
    }
}

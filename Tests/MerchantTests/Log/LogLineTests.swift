import JSON
import Testing

@testable import MerchantServer

/// A line is one JSON object, whatever is put into it, and never longer than a pipe takes at once.
struct LogLineTests {
    @Test(arguments: [
        ("plain", #""plain""#), ("", #""""#), (#"a"b\c/d"#, #""a\"b\\c/d""#), ("a\nb\r\tc", #""a\nb\r\tc""#),
        ("\u{0}\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#), ("\u{1B}[31mred", #""\u001b[31mred""#),
        ("não é 🙂", #""não é 🙂""#), ("\r\n{\"event\":\"forged\"}", #""\r\n{\"event\":\"forged\"}""#),
    ])
    func `a text is escaped as JSON wants it`(text: String, written: String) {
        var line = LogLine()
        line.add("a", .text(text))
        #expect(string(line) == #"{"a":\#(written)}"# + "\n")
    }

    @Test func `values nest, and names are escaped too`() {
        var line = LogLine()
        line.add("a\"", .object([("b\n", .list([.bare("1"), .text("x"), .list([])])), ("c", .object([]))]))
        line.add("d", .bare("true"))
        #expect(string(line) == #"{"a\"":{"b\n":[1,"x",[]],"c":{}},"d":true}"# + "\n")
    }

    @Test func `lost lines are counted in the next one`() throws {
        var line = LogLine()
        line.add("a", .text("b"))
        #expect(String(decoding: line.finished(dropped: 7), as: UTF8.self) == #"{"a":"b","dropped_lines":7}"# + "\n")
    }

    @Test(arguments: Excess.allCases)
    func `too long a line stays whole JSON and says that something is missing`(excess: Excess) throws {
        let value = excess.value
        for count in [1, 3, 20] {
            var line = LogLine()
            line.add("event", .text("payment.succeeded"))
            for number in 0..<count { line.add("\(number)", value) }
            line.add("last", .bare("1"))
            let bytes = line.finished(dropped: .max)
            #expect(bytes.count <= LogLine.bytesMax)
            #expect(bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1)
            let document = try JSONDocument(parsing: bytes)
            #expect(document.root["event"]?.string == "payment.succeeded")
            #expect(document.root["last"]?.int64 == 1)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("…") || document.root[LogLine.truncatedName]?.bool == true)
        }
    }

    @Test func `a long text is cut between characters, at every place where it may end`() throws {
        for length in 1_020...1_030 {
            for character in ["x", "é", "€", "🙂"] {
                var line = LogLine()
                let text = String(repeating: "-", count: length - 4) + String(repeating: character, count: 8)
                line.add("a", .text(text))
                let shown = try #require(try JSONDocument(parsing: line.finished(dropped: 0)).root["a"]?.string)
                let isCut = text.utf8.count > LogLine.textBytesMax
                #expect(shown.hasSuffix("…") == isCut)
                #expect(text.hasPrefix(isCut ? String(shown.dropLast()) : shown))
                #expect(shown.utf8.count <= LogLine.textBytesMax + 3)
            }
        }
    }

    private func string(_ line: LogLine) -> String {
        String(decoding: line.finished(dropped: 0), as: UTF8.self)
    }
}

/// Ways of putting too much into one value.
enum Excess: CaseIterable {
    case escapes, characters, elements, texts, members, name, depth

    var value: LogValue {
        switch self {
        case .escapes: .text(String(repeating: "\u{1}", count: 100_000))
        case .characters: .text(String(repeating: "🙂", count: 5_000))
        case .elements: .list([LogValue](repeating: .bare("1"), count: 100_000))
        case .texts: .list([LogValue](repeating: .text(String(repeating: "x", count: 500)), count: 100))
        case .members: .object((0..<10_000).map { ("\($0)", .text("x")) })
        case .name: .object([(String(repeating: "n", count: 50_000), .bare("1"))])
        case .depth: (0..<1_000).reduce(.bare("1")) { value, _ in .list([value]) }
        }
    }
}

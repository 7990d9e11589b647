import JSON
import Testing

/// RFC 8259 §7 and §8, RFC 3629.
struct StringTests {
    @Test(arguments: [
        Refused("\"", .unexpectedEnd, at: 1),
        Refused("\"abcdefgh", .unexpectedEnd, at: 9),
        Refused("\"a\\\"", .unexpectedEnd, at: 4),
        // §7: control characters stand there only escaped.
        Refused("\"a\nb\"", .controlCharacter, at: 2),
        Refused("\"\t\"", .controlCharacter, at: 1),
        Refused("\"\u{0}\"", .controlCharacter, at: 1),
        Refused("\"0123456789\u{1F}\"", .controlCharacter, at: 11),
        Refused("{\"a\u{1}\":1}", .controlCharacter, at: 3),
        // §7: these escapes and no others.
        Refused("\"\\", .unexpectedEnd, at: 2),
        Refused("\"\\a\"", .invalidEscape, at: 2),
        Refused("\"\\'\"", .invalidEscape, at: 2),
        Refused("\"\\x41\"", .invalidEscape, at: 2),
        Refused("\"\\0\"", .invalidEscape, at: 2),
        Refused("\"\\N\"", .invalidEscape, at: 2),
        Refused("\"\\\n\"", .invalidEscape, at: 2),
        Refused("\"\\é\"", .invalidEscape, at: 2),
        Refused("\"\\U0041\"", .invalidEscape, at: 2),
        Refused("\"\\u\"", .invalidEscape, at: 1),
        Refused("\"\\u004\"", .invalidEscape, at: 1),
        Refused("\"\\u004g\"", .invalidEscape, at: 1),
        Refused("\"\\u+041\"", .invalidEscape, at: 1),
        Refused("\"\\u 041\"", .invalidEscape, at: 1),
        Refused("\"\\u{41}\"", .invalidEscape, at: 1),
        Refused("\"\\u00", .invalidEscape, at: 1),
        // §8.2: no half of a pair.
        Refused("\"\\ud800\"", .loneSurrogate, at: 1),
        Refused("\"\\udfff\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83d\\ud83d\"", .loneSurrogate, at: 1),
        Refused("\"\\ude00\\ud83d\"", .loneSurrogate, at: 1),
        Refused("\"\\ude00\\ude00\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83dx\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83d\\n\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83d\\u0041\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83d\\u\"", .loneSurrogate, at: 1),
        Refused("\"\\ud83d\\ude0", .loneSurrogate, at: 1),
        Refused("\"\\ud83d", .loneSurrogate, at: 1),
        Refused("{\"\\udc00\":1}", .loneSurrogate, at: 2),
        // NUL, by which C strings end.
        Refused("\"a\\u0000b\"", .nullCharacter, at: 2),
        Refused("{\"\\u0000\":1}", .nullCharacter, at: 2),
    ])
    func `what is no string is refused`(text: Refused) {
        #expect(text.surprise == nil)
    }

    @Test(arguments: [
        // RFC 3629 §3: a further byte without a first, a first without enough further ones.
        Refused(quoted: [0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0x61, 0xBF], .invalidUTF8, at: 2),
        Refused(quoted: [0xC3], .invalidUTF8, at: 1),
        Refused(quoted: [0xE2, 0x82], .invalidUTF8, at: 1),
        Refused(quoted: [0xF0, 0x9F, 0x98], .invalidUTF8, at: 1),
        Refused(quoted: [0xC3, 0xC3, 0xA9], .invalidUTF8, at: 1),
        Refused(quoted: [0xC3, 0xA9, 0xA9], .invalidUTF8, at: 3),
        Refused([0x22, 0xC3], .invalidUTF8, at: 1),
        Refused([0x22, 0xF0, 0x9F], .invalidUTF8, at: 1),
        // Overlong: "/", NUL, "\"" in more bytes than they need.
        Refused(quoted: [0xC0, 0xAF], .invalidUTF8, at: 1),
        Refused(quoted: [0xC0, 0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0xC1, 0xBF], .invalidUTF8, at: 1),
        Refused(quoted: [0xE0, 0x80, 0xAF], .invalidUTF8, at: 1),
        Refused(quoted: [0xE0, 0x9F, 0xBF], .invalidUTF8, at: 1),
        Refused(quoted: [0xF0, 0x80, 0x80, 0xA2], .invalidUTF8, at: 1),
        Refused(quoted: [0xF0, 0x8F, 0xBF, 0xBF], .invalidUTF8, at: 1),
        // Surrogates, also as a pair (CESU-8).
        Refused(quoted: [0xED, 0xA0, 0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0xED, 0xBF, 0xBF], .invalidUTF8, at: 1),
        Refused(quoted: [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80], .invalidUTF8, at: 1),
        // Past U+10FFFF, and bytes that never occur.
        Refused(quoted: [0xF4, 0x90, 0x80, 0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0xF5, 0x80, 0x80, 0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0xF8, 0x88, 0x80, 0x80, 0x80], .invalidUTF8, at: 1),
        Refused(quoted: [0xFE], .invalidUTF8, at: 1),
        Refused(quoted: [0xFF], .invalidUTF8, at: 1),
        // Latin-1.
        Refused(quoted: [0x53, 0xE3, 0x6F], .invalidUTF8, at: 2),
        Refused([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], .invalidUTF8, at: 2),
    ])
    func `bytes that are no UTF-8 are refused`(text: Refused) {
        #expect(text.surprise == nil)
    }

    @Test(arguments: [
        (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u00E9\u20AC""#, "Aéé€"), (#""\ud83d\ude00""#, "😀"), (#""\uD834\uDD1E!""#, "𝄞!"),
        (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"), (#""\u001f\u007f""#, "\u{1F}\u{7F}"),
        (#""\u2028\u2029\ufeff\ufffe\uffff""#, "\u{2028}\u{2029}\u{FEFF}\u{FFFE}\u{FFFF}"),
        ("\"\u{80}\u{7FF}\u{800}\u{FFFF}\"", "\u{80}\u{7FF}\u{800}\u{FFFF}"),
        ("\"\u{10000}\u{10FFFF}\u{D7FF}\u{E000}\"", "\u{10000}\u{10FFFF}\u{D7FF}\u{E000}"),
        ("\"a/b\u{7F}\u{2028}\"", "a/b\u{7F}\u{2028}"), (#""\\u0041\\n""#, #"\u0041\n"#),
        (#""0123456\"89abcde\\""#, #"0123456"89abcde\"#), (#""São João — 5 €""#, "São João — 5 €"),
    ])
    func `a string is read with its escapes resolved`(json: String, value: String) throws {
        // Compared by bytes, since "é" equals "e" with an accent for Swift.
        #expect(try parse(json).string.map { Array($0.utf8) } == Array(value.utf8))
        #expect(try parse("{\(json):0}").members.map { Array($0.name.utf8) } == [Array(value.utf8)])
    }

    @Test func `a byte that must be escaped is seen wherever it stands`() {
        for length in 0..<40 {
            for place in 0..<length {
                for (byte, reason) in [(UInt8(0x1F), JSONSyntaxError.Reason.controlCharacter), (0xFF, .invalidUTF8)] {
                    var content = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    content[place] = byte
                    let refused = Refused(quoted: content, reason, at: place + 1)
                    #expect(refused.surprise == nil)
                }
            }
        }
    }

    @Test func `every scalar is read as it is written, plain and escaped`() throws {
        for value in stride(from: 1, through: 0x10FFFF, by: 251) {
            guard value >= 0x20, value != 0x22, value != 0x5C, let scalar = Unicode.Scalar(UInt32(value)) else {
                continue
            }
            let escaped = String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
            let both = try parse("[\"\(scalar)\",\"\(escaped.joined())\"]").elements.map(\.string)
            #expect(both.allSatisfy { $0.map { Array($0.unicodeScalars) } == [scalar] })
        }
    }
}

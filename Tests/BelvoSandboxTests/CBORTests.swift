import Testing

@testable import BelvoSandbox

@Suite struct CBORTests {
    @Test(
        arguments: [
            ([], CBORFault.truncated),
            ([0x18], .truncated),
            ([0x18, 0x17], .notShortest),
            ([0x19, 0x00, 0xFF], .notShortest),
            ([0x1A, 0x00, 0x00, 0xFF, 0xFF], .notShortest),
            ([0x1B, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], .notShortest),
            ([0x1C], .unsupported),
            ([0x5F, 0xFF], .unsupported),
            ([0x9F, 0xFF], .unsupported),
            ([0xC0, 0x00], .unsupported),
            ([0xF9, 0x00, 0x00], .unsupported),
            ([0xF7], .unsupported),
            ([0x42, 0x00], .truncated),
            ([0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .truncated),
            ([0x9B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .truncated),
            ([0xBB, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .truncated),
            ([0x61, 0xFF], .invalidText),
            ([0x62, 0xC0, 0x80], .invalidText),
            ([0xA2, 0x01, 0x02, 0x01, 0x03], .duplicateKey),
            ([0x00, 0x00], .trailingBytes),
            ([UInt8](repeating: 0x81, count: 9) + [0x00], .tooDeep),
            ([UInt8](repeating: 0x81, count: 100_000), .tooDeep),
            ([0xB8, 0x41] + [UInt8](repeating: 0, count: 130), .tooManyPairs),
        ] as [([UInt8], CBORFault)])
    func `bytes that are not canonical CBOR are refused`(_ bytes: [UInt8], _ fault: CBORFault) {
        #expect(throws: fault) { try CBORReader.readWhole(bytes) }
    }

    @Test(
        arguments: [
            ([0x00], .unsigned(0)),
            ([0x17], .unsigned(23)),
            ([0x18, 0x18], .unsigned(24)),
            ([0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .unsigned(.max)),
            ([0x26], .negative(6)),
            ([0x39, 0x01, 0x00], .negative(256)),
            ([0x40], .bytes([])),
            ([0x62, 0xC3, 0xA9], .text("é")),
            ([0x82, 0xF5, 0xF6], .array([.bool(true), .null])),
            ([0xA1, 0x61, 0x61, 0xA0], .map([.init(key: .text("a"), value: .map([]))])),
            ([UInt8](repeating: 0x81, count: 8) + [0x00], (0..<8).reduce(.unsigned(0)) { value, _ in .array([value]) }),
        ] as [([UInt8], CBORValue)])
    func `canonical CBOR is read`(_ bytes: [UInt8], _ value: CBORValue) throws {
        #expect(try CBORReader.readWhole(bytes) == value)
    }

    @Test func `every cut of a whole item is a fault, and none is a crash`() throws {
        let whole =
            [0xA3] + CBOR.text("fmt") + CBOR.text("none") + CBOR.text("attStmt") + [0xA0]
            + CBOR.text("authData") + CBOR.bytes([UInt8](repeating: 7, count: 300))
        _ = try CBORReader.readWhole(whole)
        for end in whole.indices {
            #expect(throws: CBORFault.truncated) { try CBORReader.readWhole(Array(whole[..<end])) }
        }
    }

    @Test func `a key is its bytes`() throws {
        // U+212A KELVIN SIGN, for which Swift's `==` takes a K.
        let kelvin: [UInt8] = [0x63, 0xE2, 0x84, 0xAA]
        let both = try CBORReader.readWhole([0xA2, 0x61, 0x4B, 0x01] + kelvin + [0x02])
        #expect(both["K"] == .unsigned(1))
        #expect(both["\u{212A}"] == .unsigned(2))
        #expect(try CBORReader.readWhole([0xA1] + kelvin + [0x02])["K"] == nil)
        #expect(throws: CBORFault.duplicateKey) {
            try CBORReader.readWhole([0xA2] + kelvin + [0x01] + kelvin + [0x02])
        }
    }

    @Test func `numbers keep their sign`() {
        #expect(CBORValue.negative(256).int64 == -257)
        #expect(CBORValue.unsigned(.max).int64 == nil)
        #expect(CBORValue.map([.init(key: .negative(2), value: .null)])[-3] == .null)
    }
}

import Payments
import Testing

struct BoundedTextTests {
    @Test(
        arguments: [
            ("", .tooShort(min: 1)),
            (String(repeating: "x", count: 65), .tooLong(max: 64)),
            (String(repeating: "é", count: 65), .tooLong(max: 64)),
            // One character to a reader, seven scalars to a database.
            (String(repeating: "👨‍👩‍👧‍👦", count: 10), .tooLong(max: 64)),
            ("order\u{0}7", .controlCharacter),
            ("order\n7", .controlCharacter),
            ("order\u{7F}", .controlCharacter),
            ("order\u{85}", .controlCharacter),
            ("\t", .controlCharacter),
            (" ", .blank),
            ("\u{A0}\u{2003}", .blank),
        ] as [(String, TextFault)])
    func `a text outside its rule is refused for its reason`(text: String, fault: TextFault) {
        #expect(throws: fault) { try Reference(text) }
    }

    @Test func `a text within its rule is kept as it came`() throws {
        for text in ["x", " x ", "Pedido nº 7", "e\u{301}", "😀", String(repeating: "é", count: 64)] {
            #expect(Array(try Reference(text).text.utf8) == Array(text.utf8))
        }
    }

    @Test func `texts are equal when their bytes are`() throws {
        let (composed, decomposed) = (try Reference("pedido-\u{E9}"), try Reference("pedido-e\u{301}"))
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, try Reference("pedido-\u{E9}")]).count == 2)
    }

    @Test func `every kind of text has the bounds that the contract names`() {
        #expect(PaymentDescriptionRule.length == 1...140)
        #expect(StatementDescriptionRule.length == 1...140)
        #expect(ReferenceRule.length == 1...64)
        #expect(UserSubjectRule.length == 1...128)
    }

    @Test func `a description serves as the text on the statement`() throws {
        let description = try PaymentDescription(String(repeating: "x", count: 140))
        #expect(StatementDescription(description).text == description.text)
    }

    @Test func `metadata may have 4096 bytes and not one more`() throws {
        let json = Array("\"\(String(repeating: "x", count: 4094))\"".utf8)
        #expect(try Metadata(json: json).json == json)
        #expect(throws: Metadata.Fault.tooLarge) { try Metadata(json: json + [0x20]) }
    }
}

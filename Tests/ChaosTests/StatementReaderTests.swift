import Testing

@testable import Chaos

/// Relays tell the messages of a PostgreSQL session apart.
@Suite struct StatementReaderTests {
    private static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
        let length = UInt32(body.count + 4)
        return Array(String(type).utf8) + withUnsafeBytes(of: length.bigEndian, Array.init) + body
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

    private static let ready = message("Z", Array("I".utf8))

    private static func begun() -> StatementReader {
        var reader = StatementReader()
        // A request for encryption, refused, and the start-up message.
        _ = reader.client([0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F][...])
        _ = reader.server(Array("N".utf8)[...])
        #expect(reader.client([0, 0, 0, 8, 0, 3, 0, 0][...]).kind == .session)
        #expect(reader.server(ready[...]).kind == .session)
        return reader
    }

    @Test func `a write is known by its words, also when it was prepared long ago`() {
        var reader = Self.begun()
        let sql = "WITH changed AS (UPDATE payments SET state = $1 RETURNING id) SELECT * FROM changed"
        let parse = Self.message("P", Self.text("s1") + Self.text(sql) + [0, 0])
        let bind = Self.message("B", Self.text("") + Self.text("s1") + [0, 0, 0, 0, 0, 0])
        let write = Crossing(kind: .write, label: "UPDATE payments")
        #expect(reader.client((parse + bind)[...]) == write)
        #expect(reader.server(Self.ready[...]) == Crossing(kind: .commit, label: "UPDATE payments"))
        #expect(reader.client(bind[...]) == write)
        #expect(reader.server(Self.ready[...]).kind == .commit)
    }

    @Test func `a read that locks is a read, and its answer is no commit`() {
        var reader = Self.begun()
        let query = Self.message("Q", Self.text("SELECT id FROM orders FOR UPDATE"))
        #expect(reader.client(query[...]) == Crossing(kind: .read, label: "SELECT orders"))
        #expect(reader.server(Self.ready[...]) == Crossing(kind: .rows, label: "SELECT orders"))
    }
}

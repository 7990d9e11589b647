/// Reads along in one PostgreSQL session, far enough to tell writes from reads (PostgreSQL documentation, "Message
/// Formats").
struct StatementReader {
    private var buffer: [UInt8] = []
    private var hasBegun = false
    /// Prepared statements by name.
    private var statements: [[UInt8]: Statement] = [:]
    /// A write that the server owes the answer to.
    private var owed: Statement?
    private var last = Statement(writes: false, label: "")
    private var isReady = false

    private struct Statement {
        let writes: Bool
        let label: String
    }

    /// Takes what the client sends, and says what it is.
    mutating func client(_ bytes: ArraySlice<UInt8>) -> Crossing {
        buffer += bytes
        var sent: [Statement] = []
        while let (type, body) = nextMessage() {
            switch type {
            case UInt8(ascii: "Q"): sent.append(Self.statement(body))
            case UInt8(ascii: "P"):
                let (name, rest) = Self.text(body)
                statements[Array(name)] = Self.statement(rest)
            case UInt8(ascii: "B"):
                let (name, _) = Self.text(Self.text(body).rest)
                if let statement = statements[Array(name)] { sent.append(statement) }
            default: break
            }
        }
        guard isReady else { return Crossing(kind: .session, label: "") }
        last = sent.first(where: \.writes) ?? sent.first ?? last
        if last.writes { owed = last }
        return Crossing(kind: last.writes ? .write : .read, label: last.label)
    }

    /// Takes what the server sends, and says what it is.
    mutating func server(_ bytes: ArraySlice<UInt8>) -> Crossing {
        guard isReady else {
            isReady = Self.isDone(bytes)
            return Crossing(kind: .session, label: "")
        }
        defer { if Self.isDone(bytes) { owed = nil } }
        return owed.map { Crossing(kind: .commit, label: $0.label) } ?? Crossing(kind: .rows, label: last.label)
    }

    /// Whether a ReadyForQuery ends it.
    private static func isDone(_ bytes: ArraySlice<UInt8>) -> Bool {
        let end = bytes.suffix(6)
        return end.count == 6 && end.prefix(5).elementsEqual([0x5A, 0, 0, 0, 5])
    }

    private mutating func nextMessage() -> (type: UInt8, body: ArraySlice<UInt8>)? {
        while true {
            let header = hasBegun ? 1 : 0
            guard buffer.count >= header + 4 else { return nil }
            let length = buffer[header..<header + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length >= 4, buffer.count >= header + length else { return nil }
            let type = hasBegun ? buffer[0] : 0
            let body = buffer[(header + 4)..<(header + length)]
            buffer.removeFirst(header + length)
            if hasBegun { return (type, body) }
            // The request for encryption (80877103) is no start-up message: that comes behind it.
            hasBegun = !body.starts(with: [0x04, 0xD2, 0x16])
        }
    }

    /// A text that ends with a zero byte, and what stands behind it.
    private static func text(_ bytes: ArraySlice<UInt8>) -> (text: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return (bytes[..<end], bytes[min(end + 1, bytes.endIndex)...])
    }

    private static func statement(_ sql: ArraySlice<UInt8>) -> Statement {
        let words = String(decoding: text(sql).text, as: UTF8.self).split { " \n(),;".contains($0) }
        for (index, word) in words.enumerated() {
            let next = index + 1 < words.count ? words[index + 1] : ""
            let after = index + 2 < words.count ? words[index + 2] : ""
            switch (word, next) {
            case ("INSERT", "INTO"), ("DELETE", "FROM"):
                return Statement(writes: true, label: "\(word) \(next) \(after)")
            case ("UPDATE", _) where after == "SET" || after == "AS":
                return Statement(writes: true, label: "UPDATE \(next)")
            case ("COMMIT", _): return Statement(writes: true, label: "COMMIT")
            default: break
            }
        }
        let table = words.firstIndex(of: "FROM").map { words[min($0 + 1, words.count - 1)] } ?? ""
        return Statement(writes: false, label: "SELECT \(table)")
    }
}

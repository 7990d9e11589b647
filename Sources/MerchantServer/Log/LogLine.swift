/// One line of the log while it is written: a JSON object (RFC 8259) and a line feed, of bounded length.
///
/// A line is at most as long as a pipe takes in one piece, also with other writers. Texts are cut first; a member
/// that still has no room is left out, and the line then says so.
struct LogLine {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private var isTruncated = false

    /// `PIPE_BUF` of Linux: a write of so many bytes is not mixed with others (POSIX, `write`).
    static let bytesMax = 4_096

    /// The most bytes of one text, before escaping.
    static let textBytesMax = 1_024

    static let truncatedName = "truncated"
    static let droppedName = "dropped_lines"

    /// Room for what `finished` adds, with a number of 19 digits.
    private static let tailBytesMax = 64
    /// The most brackets that may be open at once: deeper metadata would be a mistake.
    private static let depthMax = 8

    init() {
        bytes.reserveCapacity(512)
    }

    mutating func add(_ name: String, _ value: LogValue) {
        let before = bytes.count
        if before > 1 { bytes.append(UInt8(ascii: ",")) }
        append(name)
        bytes.append(UInt8(ascii: ":"))
        append(value, depth: 1)
        if !hasRoom {
            bytes.removeSubrange(before...)
            isTruncated = true
        }
    }

    /// The whole line, with how many lines before it were lost.
    func finished(dropped: Int) -> [UInt8] {
        var bytes = bytes
        if isTruncated { bytes += #","\#(LogLine.truncatedName)":true"#.utf8 }
        if dropped > 0 { bytes += #","\#(LogLine.droppedName)":\#(dropped)"#.utf8 }
        bytes += "}\n".utf8
        return bytes
    }

    private var hasRoom: Bool { bytes.count <= LogLine.bytesMax - LogLine.tailBytesMax }

    private mutating func append(_ value: LogValue, depth: Int) {
        // Past the bound the member is thrown away whole, so there is no need to write the rest of it.
        guard hasRoom, depth <= LogLine.depthMax else {
            isTruncated = true
            return append("…")
        }
        switch value {
        case .text(let text): append(text)
        case .bare(let text): bytes += text.utf8
        case .list(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() where hasRoom {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(value, depth: depth + 1)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() where hasRoom {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(member.name)
                bytes.append(UInt8(ascii: ":"))
                append(member.value, depth: depth + 1)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Writes a text in quotes, cut where it is too long.
    private mutating func append(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { append(escaping: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaping text: UnsafeBufferPointer<UInt8>) {
        var end = text.count
        if end > LogLine.textBytesMax {
            end = LogLine.textBytesMax
            // Never through the middle of a character's bytes (RFC 3629 §3).
            while text[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
        }
        for byte in text[..<end] {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): bytes += #"\n"#.utf8
            case UInt8(ascii: "\r"): bytes += #"\r"#.utf8
            case UInt8(ascii: "\t"): bytes += #"\t"#.utf8
            // DEL as well: a terminal that shows the log need not act on it.
            case 0..<0x20, 0x7F:
                bytes += #"\u00"#.utf8
                bytes += [LogLine.hexDigit(byte >> 4), LogLine.hexDigit(byte & 0xF)]
            default: bytes.append(byte)
            }
        }
        if end < text.count { bytes += "…".utf8 }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

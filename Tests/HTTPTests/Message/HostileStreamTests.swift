import HTTP
import Testing

struct HostileStreamTests {
    /// Requests with one of everything, for a few of their bytes to be changed.
    private static let messages = [
        "GET /a%20b?c=d HTTP/1.1\r\nHost: a.example:80\r\nAccept: */*\r\nConnection: keep-alive, x\r\n\r\n",
        "POST http://[::1]:8/ HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\nHello world",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3;a=\"b\"\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
        "\r\nOPTIONS * HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
    ]
    private static let favourites: [UInt8] =
        Array("\r\n\t \0:;,=\"\\%/@[]*019aAfFgGxHT\u{7F}".utf8) + [0x80, 0xA0, 0xFF]

    /// The same bytes give the same messages however they are cut, so that a proxy before us sees no others.
    @Test(arguments: 0..<40)
    func `broken requests come to the same whatever way they are cut`(seed: UInt64) {
        var random = Sequence(seed: seed)
        for _ in 0..<50 {
            var message: [UInt8] = []
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                message += bytes(Self.messages.randomElement(using: &random) ?? "")
            }
            for _ in 0...Int.random(in: 0..<4, using: &random) { change(&message, &random) }
            let whole = requestOutcome(of: [message[...]])
            #expect(
                requestOutcome(of: message.indices.map { message[$0...$0] }) == whole,
                "\(text(message).debugDescription)")
            for _ in 0..<4 {
                let pieces = cut(message, &random)
                #expect(
                    requestOutcome(of: pieces) == whole, "\(text(message).debugDescription) as \(pieces.map(\.count))")
            }
        }
    }

    /// No byte that stands for nothing in a request may be passed over.
    @Test func `a control character anywhere in a head is refused`() {
        let head = bytes("GET /a?b HTTP/1.1\r\nHost: a\r\nAccept: text/html, */*;q=0.5\r\n\r\n")
        for index in head.indices {
            for control in [0x00, 0x01, 0x08, 0x0B, 0x0C, 0x1F, 0x7F] as [UInt8] {
                var broken = head
                broken[index] = control
                // In the place of the last line feed it leaves the head without an end.
                let outcome = requestOutcome(of: [broken[...]])
                #expect(
                    outcome == "400" || (outcome == "…" && index == head.count - 1),
                    "\(control) at \(index): \(outcome)")
            }
        }
    }

    private func change(_ message: inout [UInt8], _ random: inout Sequence) {
        let index = message.indices.randomElement(using: &random) ?? 0
        let byte = Self.favourites.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<4, using: &random) {
        case 0: message[index] = byte
        case 1: message.insert(byte, at: index)
        case 2: message.remove(at: index)
        default:
            let end = min(message.count, index + Int.random(in: 1..<20, using: &random))
            message.insert(contentsOf: message[index..<end], at: index)
        }
    }

    private func cut(_ message: [UInt8], _ random: inout Sequence) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < message.count {
            let end = min(message.count, start + Int.random(in: 1..<40, using: &random))
            pieces.append(message[start..<end])
            start = end
        }
        return pieces
    }
}

/// Numbers that are the same in every run: SplitMix64.
private struct Sequence: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

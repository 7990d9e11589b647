import JSON
import Testing

/// Texts made up by a generator of fixed seed: what is right is read as it was written, what is damaged is refused or
/// read, and neither ends the program.
struct HostileTextTests {
    @Test func `what the writer writes is read as it was meant`() throws {
        var random = Sequence64(seed: 1)
        for _ in 0..<2_000 {
            let written = randomText(&random)
            let value = try JSONDocument(parsing: written).root
            #expect(value.raw.elementsEqual(written))
            let canonical = try JSONDocument(parsing: value.canonicalBytes()).root
            #expect(canonical == value)
            #expect(canonical.canonicalBytes() == value.canonicalBytes())
        }
    }

    @Test func `damaged texts are refused or read, and never past their end`() {
        var random = Sequence64(seed: 2)
        let splinters = Array("{}[]:,\"\\u0e+-.1tfn \u{0}\n".utf8) + [0x80, 0xC3, 0xED, 0xF4, 0xFF]
        for _ in 0..<10_000 {
            var bytes = randomText(&random)
            for _ in 0...Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = splinters.randomElement(using: &random) ?? 0
                case 1: bytes.insert(splinters.randomElement(using: &random) ?? 0, at: place)
                case 2: bytes.remove(at: place)
                default: bytes.removeSubrange(place...)
                }
            }
            exercise(bytes)
        }
    }

    @Test func `noise is refused or read`() {
        var random = Sequence64(seed: 3)
        let splinters = Array("{{[[]]}},,::\"\"\"aa1\\u".utf8)
        for _ in 0..<20_000 {
            let length = Int.random(in: 0..<24, using: &random)
            exercise((0..<length).map { _ in splinters.randomElement(using: &random) ?? 0 })
        }
    }

    /// Reads a text, and then all there is in it.
    private func exercise(_ bytes: [UInt8]) {
        do throws(JSONSyntaxError) {
            let root = try JSONDocument(parsing: bytes).root
            #expect(refusal(of: root.canonicalBytes()) == nil)
            let reader = JSONReader(root)
            _ = reader.string("a", length: 1...3)
            _ = reader.object("b")?.objects("c")
            _ = reader.faults
        } catch {
            #expect((0...bytes.count).contains(error.offset))
        }
    }

    private func randomText(_ random: inout Sequence64) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writeMembers(&$0, depth: 0, &random) }
        return writer.bytes
    }

    private func writeMembers(_ writer: inout JSONWriter, depth: Int, _ random: inout Sequence64) {
        for number in 0..<Int.random(in: 0..<8, using: &random) {
            let name = "\(randomString(&random))\(number)"
            switch Int.random(in: 0..<(depth < 4 ? 8 : 6), using: &random) {
            case 0: writer.memberNull(name)
            case 1: writer.member(name, Bool.random(using: &random))
            case 2: writer.member(name, Int64.random(in: .min ... .max, using: &random))
            case 3: writer.memberRaw(name, "\(Int.random(in: -99...99, using: &random)).0\(number)e\(number)".utf8)
            case 4, 5: writer.member(name, randomString(&random))
            case 6: writer.memberObject(name) { writeMembers(&$0, depth: depth + 1, &random) }
            default:
                writer.memberArray(name) {
                    for _ in 0..<Int.random(in: 0..<4, using: &random) {
                        $0.object { writeMembers(&$0, depth: depth + 1, &random) }
                    }
                }
            }
        }
    }

    private func randomString(_ random: inout Sequence64) -> String {
        let characters = Array("abcXYZ 0189\"\\/\n\t\u{1}é€😀")
        let length = Int.random(in: 0..<20, using: &random)
        return String((0..<length).map { _ in characters.randomElement(using: &random) ?? "a" })
    }
}

/// The same numbers for the same seed: a linear congruential generator (Knuth's constants), its high bits folded in.
private struct Sequence64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}

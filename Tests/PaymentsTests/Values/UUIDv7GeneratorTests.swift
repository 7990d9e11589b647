import FoundationEssentials
import Payments
import Testing

struct UUIDv7GeneratorTests {
    private enum Record {}

    /// Gives the same bits each time.
    private struct Constant: RandomNumberGenerator {
        var bits: UInt64
        mutating func next() -> UInt64 { bits }
    }

    private static func next(
        _ generator: inout UUIDv7Generator, microseconds: Int64, bits: UInt64 = .max
    ) -> String {
        var random = Constant(bits: bits)
        let now = Timestamp(microsecondsSince1970: microseconds)
        return ID<Record>(generator.next(at: now, using: &random)).description
    }

    // The first has the milliseconds and random bits of the example in RFC 9562 §A.6.
    @Test(
        arguments: [
            (1_645_557_742_000_798, 0x18C4_DC0C_0C07_398F << 2, "017f22e2-79b0-7cc4-98c4-dc0c0c07398f"),
            (0, 0, "00000000-0000-7001-8000-000000000000"),
            (-5, .max, "00000000-0000-7001-bfff-ffffffffffff"),
            (999, .max, "00000000-0000-7ffb-bfff-ffffffffffff"),
            (1000, .max, "00000000-0001-7000-bfff-ffffffffffff"),
            (.max, .max, "e677d21f-dbff-7ffb-bfff-ffffffffffff"),
        ] as [(Int64, UInt64, String)])
    func `time, version, variant and random bits stand where RFC 9562 puts them`(
        microseconds: Int64, bits: UInt64, text: String
    ) {
        var generator = UUIDv7Generator()
        #expect(UUIDv7GeneratorTests.next(&generator, microseconds: microseconds, bits: bits) == text)
    }

    @Test func `identities of one microsecond increase all the same`() {
        var generator = UUIDv7Generator()
        let made = (0..<10_000).map { _ in
            UUIDv7GeneratorTests.next(&generator, microseconds: 1_645_557_742_000_000)
        }
        #expect(made == made.sorted())
        #expect(Set(made).count == made.count)
    }

    @Test func `a clock set back does not set identities back`() {
        var generator = UUIDv7Generator()
        let before = UUIDv7GeneratorTests.next(&generator, microseconds: 2_000_000)
        let after = UUIDv7GeneratorTests.next(&generator, microseconds: 1_000_000)
        #expect(before < after)
    }

    @Test func `two made at one moment by different generators differ`() {
        var (one, other) = (UUIDv7Generator(), UUIDv7Generator())
        var random = SystemRandomNumberGenerator()
        let now = Timestamp(microsecondsSince1970: 1_645_557_742_000_000)
        #expect(one.next(at: now, using: &random) != other.next(at: now, using: &random))
    }
}

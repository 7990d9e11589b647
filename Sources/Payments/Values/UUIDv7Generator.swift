import FoundationEssentials

/// Makes identities that sort by the time at which they were made (RFC 9562 §5.7).
///
/// The 12 bits after the milliseconds hold the fraction of the millisecond (§6.2, method 3), which is all
/// that a microsecond clock can tell. One generator's identities always increase, also when it is asked
/// more often than the clock ticks or the clock is set back: it then counts on from the last one. Each
/// event loop has its own; between two of them 62 random bits keep identities apart.
public struct UUIDv7Generator: Sendable {
    /// The time in the identity given out last: milliseconds since 1970 and 12 bits of their fraction.
    private var lastTick: UInt64 = 0

    public init() {}

    /// The next identity, with the time and the source of random bits handed in.
    public mutating func next(at now: Timestamp, using random: inout some RandomNumberGenerator) -> UUID {
        lastTick = max(UUIDv7Generator.tick(of: now), lastTick + 1)
        let high = (lastTick >> 12) << 16 | 0x7000 | (lastTick & 0xFFF)
        let low = UInt64(0b10) << 62 | random.next() >> 2
        return UUID(high: high, low: low)
    }

    /// Moments before 1970 have no place in the format and count as its start. The last year that a
    /// timestamp can hold fits into the 48 bits, with centuries to spare for counting on.
    private static func tick(of moment: Timestamp) -> UInt64 {
        let microseconds = UInt64(max(0, moment.microsecondsSince1970))
        return (microseconds / 1000) << 12 | (microseconds % 1000) * 4096 / 1000
    }
}

extension UUID {
    /// Whether it says that it is of version 7, as all that are made here are (RFC 9562 §5.7).
    public var isVersion7: Bool { uuid.6 >> 4 == 7 && uuid.8 >> 6 == 0b10 }
}

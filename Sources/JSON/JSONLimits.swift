/// The bounds within which a text is read; what is past them is refused (RFC 8259 §9 gives leave to).
public struct JSONLimits: Sendable {
    /// The containers that may be open at once: `[[1]]` needs two.
    ///
    /// Parsing itself needs no stack for them; the bound protects code that walks the values recursively.
    public var depthMax = 64

    /// The longest text, in bytes. Never more than 2 GiB, whatever is set: the index counts in 32 bits.
    public var bytesMax = 1_048_576

    /// The longest number, in bytes. A double never needs more than 24, an exact one of its values 1,077.
    public var numberBytesMax = 1_100

    /// Whether escapes of what is no text are read as U+FFFD: halves of surrogate pairs, and U+0000, which PostgreSQL
    /// stores neither in `text` nor in `jsonb`. Only an escape can put them into a string or name (RFC 8259 §7).
    ///
    /// Refused by default: a name checked whole could be kept cut short. For answers that must be read whatever else
    /// they say.
    public var replacesWhatIsNoText = false

    /// The most digits of an exponent, leading zeros not counted.
    ///
    /// Three digits are past every double (1.8e308). More serve only a client that wants five bytes to become a hundred
    /// thousand digits wherever the number is written out, as `jsonb` does.
    static let exponentDigitsMax = 3

    /// The limits for a text from anywhere.
    public init() {}

    /// Reads whatever JSON permits as text (`replacesWhatIsNoText`).
    public static let tolerant: Self = {
        var limits = Self()
        limits.replacesWhatIsNoText = true
        return limits
    }()
}

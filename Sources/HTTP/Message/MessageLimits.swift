/// The bounds within which a message is read. What is past them is refused with the status named.
public struct MessageLimits: Sendable {
    /// The longest request line or status line, in bytes: 414 past it.
    ///
    /// RFC 9112 §3 recommends at least 8000; a bank's callback with a long `id_token` needs more.
    public var startLineBytesMax = 16_384

    /// All field lines together, in bytes: 431 past it (RFC 6585 §5). Trailers have the same bound.
    public var headerBytesMax = 16_384

    /// Field lines in one section: 431 past it.
    public var headerCountMax = 100

    /// The body after decoding, in bytes: 413 past it, before it is read where its length is announced.
    public var bodyBytesMax = 65_536

    /// Chunk extensions and size lines in one body, in bytes: 413 past it (RFC 9112 §7.1.1).
    public var chunkOverheadBytesMax = 16_384

    public init() {}
}

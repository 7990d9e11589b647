extension String {
    /// Whether both are the same bytes of UTF-8 (RFC 8259 §8.3).
    ///
    /// For texts that a client chooses, in place of `==`, of hashing and of `<`: these treat texts as the same that
    /// only look the same (U+212A, the Kelvin sign, is a K), and bring both into normal form first, which takes a
    /// second where 32,000 combining marks stand in the wrong order.
    @inlinable
    public func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

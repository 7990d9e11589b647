extension Target {
    /// The text that a segment of a path stands for, its percent escapes resolved (RFC 3986 §2.1, §3.3).
    ///
    /// Throws 400 for a broken escape, for a NUL, and for octets that are no UTF-8 once unescaped.
    public static func unescaped(_ segment: some StringProtocol) throws(MessageFault) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(segment.utf8.count)
        var rest = Array(segment.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == Octet.percent else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Octet.hexValue), let low = rest.popFirst().flatMap(Octet.hexValue)
            else { throw .malformed("the path holds a broken percent escape") }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformed("the path holds what is no text in UTF-8")
        }
        return text
    }
}

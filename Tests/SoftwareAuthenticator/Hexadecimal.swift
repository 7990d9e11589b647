enum Hexadecimal {
    /// Two digits in lower case for each byte.
    static func encode(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

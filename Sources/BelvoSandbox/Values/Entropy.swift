import COpenSSL
import JSON

/// Where the sandbox takes its random bytes from, so that a test can choose them.
public struct Entropy: Sendable {
    private let source: @Sendable (Int) -> [UInt8]

    /// Takes a function that gives as many random bytes as it is asked for.
    public init(_ source: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.source = source
    }

    /// OpenSSL's generator. Wraps `RAND_bytes`.
    public static let system = Entropy { count in
        var bytes = [UInt8](repeating: 0, count: count)
        let outcome = RAND_bytes(&bytes, Int32(count))
        precondition(outcome == 1, "the random generator could not be seeded")
        return bytes
    }

    func bytes(_ count: Int) -> [UInt8] { source(count) }

    /// A version 4 UUID (RFC 9562 §5.4) in lower case.
    func uuid() -> String {
        var bytes = source(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Hexadecimal.text(bytes)
        return [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
            .map { String(hex.dropFirst($0.0).prefix($0.1 - $0.0)) }
            .joined(separator: "-")
    }

    /// `count` random bytes in hexadecimal.
    func hexadecimal(_ count: Int) -> String { Hexadecimal.text(source(count)) }

    /// `count` random bytes in base64url.
    func base64URL(_ count: Int) -> String { Base64URL.encode(source(count)) }

    /// Letters and digits.
    func alphanumerics(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String(source(count).map { alphabet[Int($0) % alphabet.count] })
    }
}

enum Hexadecimal {
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

enum UUIDText {
    /// The lower-case spelling of a UUID in its hyphenated form (RFC 9562 §4), nil for anything else.
    static func parse(_ text: String) -> String? {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        guard groups.allSatisfy({ $0.utf8.allSatisfy(isHexadecimalDigit) }) else { return nil }
        return text.lowercased()
    }

    private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

import FoundationEssentials

/// The texts of Belvo's that may be stored and logged in plain: words of a vocabulary and opaque ids, by which
/// operators search and group. Anything else may repeat what a person typed (reliability.md, promise 9).
package enum PlainWord {
    static let bytesMax = 64
    /// Replaces a text that is no plain word.
    package static let unreadable = "UNREADABLE"

    /// A code, a status, a type: up to 64 letters, digits, `_`, `-` and `.`, too few digits among them for a number of
    /// a person's.
    package static func isCode(_ text: String) -> Bool {
        (1...bytesMax).contains(text.utf8.count) && text.utf8.count(where: isDigit) < 6
            && text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "_-.".utf8.contains($0) }
    }

    /// Where in a request a fault is: a code, or several with what a path is made of between them.
    static func isPath(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.count(where: isDigit) < 6
            && text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "_-./[]".utf8.contains($0) }
    }

    /// An id that a machine gave: 16 hexadecimal digits and more, or letters and digits without spaces, with no number
    /// in them that is as long as a person's (phone, CPF, CNPJ), however that is punctuated. A UUID at the end may hold
    /// any digits.
    static func isID(_ text: String) -> Bool {
        guard (1...1000).contains(text.utf8.count),
            text.utf8.allSatisfy({ isDigit($0) || isLetter($0) || "_-./:=".utf8.contains($0) }),
            text.utf8.contains(where: isLetter), text.utf8.contains(where: isDigit)
        else { return false }
        if text.utf8.count >= 16, text.utf8.allSatisfy({ isDigit($0) || (0x61...0x66).contains($0 | 0x20) }) {
            return true
        }
        let head = UUID(uuidString: String(text.suffix(36))) == nil ? text[...] : text.dropLast(36)
        return head.utf8.split { !isDigit($0) && !"-./".utf8.contains($0) }
            .allSatisfy { !(8...14).contains($0.count(where: isDigit)) }
    }

    /// A day, or a moment of one, as ISO 8601 writes it.
    static func isMoment(_ text: String) -> Bool {
        let day = Array(text.utf8.prefix(10))
        return day.count == 10 && day[4] == UInt8(ascii: "-") && day[7] == UInt8(ascii: "-")
            && day.count(where: isDigit) == 8 && text.utf8.count <= 40
            && text.utf8.allSatisfy { isDigit($0) || "-:.+TZ ".utf8.contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
}

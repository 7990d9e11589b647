/// The identity that a Pix payment carries from end to end through the Brazilian payment system.
///
/// `E`, the initiating participant's eight digits (ISPB), the minute in UTC as `yyyyMMddHHmm`, and eleven
/// letters or digits: 32 characters, of which case matters (belvo-api.md §9).
public struct EndToEndID: Hashable, Sendable, LosslessStringConvertible {
    public let description: String

    /// Takes exactly what belvo-api.md §9 gives as the pattern; nil for anything else.
    ///
    /// Like the pattern it takes any day up to 31 in any month.
    public init?(_ text: String) {
        var cursor = ASCIICursor(text)
        guard cursor.take("E"),
            cursor.number(digits: 8) != nil,
            cursor.number(digits: 4) != nil,
            let month = cursor.number(digits: 2), (1...12).contains(month),
            let day = cursor.number(digits: 2), (1...31).contains(day),
            let hour = cursor.number(digits: 2), hour < 24,
            let minute = cursor.number(digits: 2), minute < 60,
            (0..<11).allSatisfy({ _ in cursor.take { ASCII.isDigit($0) || ASCII.isLetter($0) } != nil }),
            cursor.isAtEnd
        else { return nil }
        description = text
    }
}

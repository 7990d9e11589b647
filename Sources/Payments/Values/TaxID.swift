/// A Brazilian tax number with correct check digits: a person's CPF or a company's CNPJ.
///
/// Both the numeric CNPJ and the alphanumeric one are known, which has been issued beside it since July
/// 2026 (Receita Federal, Instrução Normativa RFB 2.229/2024).
public struct TaxID: Hashable, Sendable, Redacted {
    /// The kind of its holder: a person or a company.
    public enum Kind: String, Sendable {
        case cpf = "CPF"
        case cnpj = "CNPJ"
    }

    public let kind: Kind

    /// The 11 or 14 characters without punctuation, letters in upper case. Personal: not for logs.
    public let text: String

    /// Reads a number as people write it: bare, with its customary punctuation or with part of it
    /// (`529.982.247-25`, `529982247-25`), letters in either case. No white space, no other marks.
    public init(_ text: some StringProtocol) throws(Fault) {
        guard let (kind, characters) = TaxID.shape(of: text) else { throw .malformed }
        // Such numbers pass the check digits, are never issued and are what people type to get past a form.
        guard characters.contains(where: { $0 != characters[0] }) else { throw .repeatedDigit }
        guard TaxIDCheckDigits.fit(characters, kind) else { throw .wrongCheckDigits }
        self.kind = kind
        self.text = String(decoding: characters, as: UTF8.self)
    }

    /// The number with all but its check digits hidden, in its own punctuation: `***.***.***-25`.
    ///
    /// Enough for its owner to know it again; the check digits follow from the hidden ones and narrow
    /// them down to one in a hundred.
    public var masked: String {
        switch kind {
        case .cpf: "***.***.***-\(text.suffix(2))"
        case .cnpj: "**.***.***/****-\(text.suffix(2))"
        }
    }

    /// Why a text is no tax number.
    public enum Fault: ValueFault, CaseIterable {
        case malformed
        case repeatedDigit
        case wrongCheckDigits

        public var code: String {
            switch self {
            case .malformed: "malformed"
            case .repeatedDigit: "repeated_digit"
            case .wrongCheckDigits: "wrong_check_digits"
            }
        }

        public var message: String {
            switch self {
            case .malformed:
                "A tax number is a CPF of 11 digits or a CNPJ of 12 letters or digits and 2 check digits."
            case .repeatedDigit: "One repeated digit is no tax number."
            case .wrongCheckDigits: "The check digits do not fit the number."
            }
        }
    }

    /// Finds the kind whose pattern the text fills, and its characters without punctuation.
    private static func shape(of text: some StringProtocol) -> (Kind, [UInt8])? {
        for (kind, pattern) in patterns {
            if let characters = characters(of: text, filling: pattern) { return (kind, characters) }
        }
        return nil
    }

    private static func characters(of text: some StringProtocol, filling pattern: String) -> [UInt8]? {
        var cursor = ASCIICursor(text)
        var characters: [UInt8] = []
        for place in pattern.unicodeScalars {
            switch place {
            case "0":
                guard let digit = cursor.take(where: ASCII.isDigit) else { return nil }
                characters.append(digit)
            case "A":
                guard let character = cursor.take(where: { ASCII.isDigit($0) || ASCII.isLetter($0) }) else {
                    return nil
                }
                characters.append(ASCII.uppercased(character))
            default:
                cursor.take(place)
            }
        }
        return cursor.isAtEnd ? characters : nil
    }

    /// `0` stands for a digit, `A` for a digit or letter, anything else for itself or for nothing.
    private static let patterns: [(Kind, String)] = [
        (.cpf, "000.000.000-00"),
        (.cnpj, "AA.AAA.AAA/AAAA-00"),
    ]
}

/// The two check digits at the end of a CPF or CNPJ.
///
/// A character counts as its ASCII code less 48, so a digit counts as itself and `A` as 17 (Receita
/// Federal, Nota Técnica COCAD/SUARA/RFB 49/2024; Serpro, "Cálculo dos dígitos verificadores de CNPJ
/// alfanumérico"): the numeric CNPJ is the special case without letters. Each check digit is taken over
/// all characters before it, so the second one covers the first.
enum TaxIDCheckDigits {
    /// Whether the last two of the characters, which are digits, are what those before them ask for.
    static func fit(_ characters: [UInt8], _ kind: TaxID.Kind) -> Bool {
        [characters.count - 2, characters.count - 1].allSatisfy { place in
            characters[place] == checkDigit(over: characters[..<place], weightMax: weightMax(of: kind))
        }
    }

    /// The weights start with 2 at the right and begin again after this one.
    private static func weightMax(of kind: TaxID.Kind) -> Int {
        switch kind {
        case .cpf: 11  // Never reached a second time: ten characters at most lie before a check digit.
        case .cnpj: 9
        }
    }

    private static func checkDigit(over characters: ArraySlice<UInt8>, weightMax: Int) -> UInt8 {
        var sum = 0
        var weight = 2
        for character in characters.reversed() {
            sum += Int(character - ASCII.zero) * weight
            weight = weight == weightMax ? 2 : weight + 1
        }
        let remainder = sum % 11
        return ASCII.zero + UInt8(remainder < 2 ? 0 : 11 - remainder)
    }
}

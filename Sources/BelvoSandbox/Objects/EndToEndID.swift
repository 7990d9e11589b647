/// The name of a Pix payment at the Central Bank: `E`, the payer's bank (ISPB, 8 digits), the minute in
/// UTC and 11 letters or digits (belvo-api.md §9).
enum EndToEndID {
    static func make(at moment: Timestamp, entropy: Entropy) -> String {
        "E43215815\(moment.minute)\(entropy.alphanumerics(11))"
    }
}

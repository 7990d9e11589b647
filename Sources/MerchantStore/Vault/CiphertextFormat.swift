import FoundationEssentials

/// A ciphertext taken apart, as `Vault` describes it; nothing in it is authenticated yet.
struct CiphertextFormat {
    let keyID: String
    /// Format, length and id: what stands before the nonce.
    let prefix: ArraySlice<UInt8>
    /// Nonce, encrypted bytes and tag.
    let box: ArraySlice<UInt8>

    private static let version: UInt8 = 1
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Takes the bytes apart, or gives nothing when a vault cannot have made them.
    init?(_ ciphertext: [UInt8]) {
        guard ciphertext.count >= 2, ciphertext[0] == CiphertextFormat.version else { return nil }
        let boxStart = 2 + Int(ciphertext[1])
        guard ciphertext.count >= boxStart + CiphertextFormat.nonceBytes + CiphertextFormat.tagBytes,
            EncryptionKey.isID(ciphertext[2..<boxStart])
        else { return nil }
        keyID = String(decoding: ciphertext[2..<boxStart], as: UTF8.self)
        prefix = ciphertext[..<boxStart]
        box = ciphertext[boxStart...]
    }

    static func prefix(keyID: String) -> [UInt8] {
        [version, UInt8(keyID.utf8.count)] + keyID.utf8
    }

    /// The data authenticated beside the plaintext: the prefix, the column with its length, and the row.
    ///
    /// Every part has its length before it or a fixed one, so that no two places spell the same bytes.
    static func place(prefix: some Collection<UInt8>, column: VaultColumn, row: UUID) -> [UInt8] {
        var place = Array(prefix)
        place.append(UInt8(column.rawValue.utf8.count))
        place.append(contentsOf: column.rawValue.utf8)
        withUnsafeBytes(of: row.uuid) { place.append(contentsOf: $0) }
        return place
    }
}

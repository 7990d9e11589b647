import Crypto
import Payments

/// One key of `ENCRYPTION_KEYS`, with the id by which ciphertexts name it.
package struct EncryptionKey: Sendable, Redacted {
    /// The only part that is stored, with every ciphertext.
    package let id: String
    fileprivate let bytes: [UInt8]

    /// The size of an AES-256 key.
    package static let bytesCount = 32
    package static let idLength = 1...32

    /// Takes 32 bytes and an id of 1 to 32 letters, digits, `.`, `_` and `-`; nothing for anything else.
    package init?(id: String, bytes: [UInt8]) {
        guard bytes.count == EncryptionKey.bytesCount, EncryptionKey.isID(id.utf8) else { return nil }
        self.id = id
        self.bytes = bytes
    }

    static func isID(_ bytes: some Collection<UInt8>) -> Bool {
        idLength.contains(bytes.count)
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The key of `LOOKUP_KEY`. It cannot be changed without losing what was stored under it.
package struct LookupKey: Sendable, Redacted {
    private let bytes: [UInt8]

    /// The length of the digest that it keys (RFC 2104 §3).
    package static let bytesCount = 32

    /// Takes 32 bytes; nothing for any other number.
    package init?(bytes: [UInt8]) {
        guard bytes.count == LookupKey.bytesCount else { return nil }
        self.bytes = bytes
    }

    func derived(for purpose: LookupPurpose) -> SymmetricKey {
        SymmetricKey(data: bytes).derived("merchant vault 1, look up \(purpose.rawValue)")
    }
}

/// The keys derived from one encryption key: a key for each column, derived once.
struct SealingKeys: Sendable {
    let id: String
    private let keys: [VaultColumn: SymmetricKey]

    init(_ key: EncryptionKey) {
        id = key.id
        let root = SymmetricKey(data: key.bytes)
        keys = Dictionary(
            uniqueKeysWithValues: VaultColumn.allCases.map {
                ($0, root.derived("merchant vault 1, encrypt \($0.rawValue)"))
            })
    }

    func key(for column: VaultColumn) -> SymmetricKey {
        guard let key = keys[column] else { preconditionFailure("every column has its key") }
        return key
    }
}

extension SymmetricKey {
    /// A key for one end, from which neither this one nor those for other ends can be found (RFC 5869 §3.2). No salt,
    /// since the configured keys are random throughout.
    fileprivate func derived(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: self, info: Array(purpose.utf8), outputByteCount: 32)
    }
}

import Crypto
import FoundationEssentials

/// Keeps personal data unreadable in the database, and still lets a person's records be found in it.
///
/// What is sealed opens only in the column and row for which it was sealed: a ciphertext that was moved to
/// another user's row is refused. What is looked up is compared by a keyed digest, because the few billion CPFs
/// there are can be tried through against a plain one.
///
/// A ciphertext is, in this order: the byte 1 for this format, the length of the key's id in one byte, the id, a
/// random nonce of 12 bytes, the encrypted bytes, a tag of 16 bytes (AES-256-GCM, NIST SP 800-38D). The two keys of
/// the configuration are never used themselves: each column and each purpose has its own, derived by HKDF (RFC 5869),
/// so that no key serves two ends.
package struct Vault: Sendable {
    private let current: SealingKeys
    private let all: [String: SealingKeys]
    private let lookupKeys: [LookupPurpose: SymmetricKey]

    /// Takes the keys of the configuration: the first one encrypts, all decrypt. There is at least one, and no id
    /// stands for two.
    package init(encryptionKeys: [EncryptionKey], lookupKey: LookupKey) {
        precondition(!encryptionKeys.isEmpty, "a vault needs a key")
        let keys = encryptionKeys.map(SealingKeys.init)
        current = keys[0]
        all = Dictionary(uniqueKeysWithValues: keys.map { ($0.id, $0) })
        lookupKeys = Dictionary(
            uniqueKeysWithValues: LookupPurpose.allCases.map { ($0, lookupKey.derived(for: $0)) })
    }

    /// The prefix of every ciphertext under the first key.
    var currentPrefix: [UInt8] { CiphertextFormat.prefix(keyID: current.id) }

    /// Encrypts bytes for one place. The same bytes give another ciphertext each time.
    package func seal(_ plaintext: [UInt8], in column: VaultColumn, of row: UUID) -> [UInt8] {
        let prefix = CiphertextFormat.prefix(keyID: current.id)
        let place = CiphertextFormat.place(prefix: prefix, column: column, row: row)
        // Only a key of the wrong size makes this fail, and `EncryptionKey` has none such.
        guard
            let box = try? AES.GCM.seal(plaintext, using: current.key(for: column), authenticating: place),
            let combined = box.combined
        else { preconditionFailure("AES-256-GCM takes every plaintext that fits into memory") }
        return prefix + combined
    }

    /// Decrypts what `seal` made for the same place.
    ///
    /// Throws when the bytes are no ciphertext of ours, when their key is not among ours, and when they were
    /// altered or sealed for another place.
    package func open(_ ciphertext: [UInt8], in column: VaultColumn, of row: UUID) throws(VaultFault) -> [UInt8] {
        guard let parts = CiphertextFormat(ciphertext) else { throw .malformed }
        guard let keys = all[parts.keyID] else { throw .unknownKey(id: parts.keyID) }
        let place = CiphertextFormat.place(prefix: parts.prefix, column: column, row: row)
        do {
            let box = try AES.GCM.SealedBox(combined: parts.box)
            return Array(try AES.GCM.open(box, using: keys.key(for: column), authenticating: place))
        } catch {
            throw .notAuthentic
        }
    }

    /// The keyed digest by which bytes are found again: HMAC-SHA-256, 32 bytes, always the same for the same bytes
    /// and purpose.
    package func lookup(_ bytes: some Collection<UInt8>, for purpose: LookupPurpose) -> [UInt8] {
        guard let key = lookupKeys[purpose] else { preconditionFailure("every purpose has its key") }
        var digest = HMAC<SHA256>(key: key)
        if bytes.withContiguousStorageIfAvailable({ digest.update(data: UnsafeRawBufferPointer($0)) }) == nil {
            digest.update(data: Array(bytes))
        }
        return Array(digest.finalize())
    }

    /// The keyed digest of a text's UTF-8, as it stands: spelling it in one way is up to the caller.
    package func lookup(_ text: String, for purpose: LookupPurpose) -> [UInt8] {
        lookup(text.utf8, for: purpose)
    }
}

/// Why a ciphertext does not open.
package enum VaultFault: Error, Equatable, Sendable {
    /// The bytes were not made by a vault.
    case malformed
    /// The key of this id was taken out of the configuration while something was still encrypted with it.
    case unknownKey(id: String)
    /// The bytes were altered, come from another column or row, or the id now stands for another key.
    case notAuthentic
}

extension VaultFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed: "the bytes are no ciphertext"
        case .unknownKey(let id): "the encryption key \(id) is not configured"
        case .notAuthentic: "the ciphertext was altered, moved, or made with another key of the same id"
        }
    }
}

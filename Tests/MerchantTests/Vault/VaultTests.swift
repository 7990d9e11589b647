import Crypto
import FoundationEssentials
import Testing

@testable import MerchantStore

/// A ciphertext decrypts in its own place and nowhere else.
struct VaultTests {
    private static let row = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    private static let otherRow = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17))
    private static let secret = Array("529.982.247-25".utf8)

    @Test(arguments: VaultColumn.allCases)
    func `a ciphertext moved to another column or row does not open`(column: VaultColumn) throws {
        let vault = try vault("a")
        let sealed = vault.seal(Self.secret, in: column, of: Self.row)
        #expect(try vault.open(sealed, in: column, of: Self.row) == Self.secret)
        #expect(throws: VaultFault.notAuthentic) { try vault.open(sealed, in: column, of: Self.otherRow) }
        for other in VaultColumn.allCases where other != column {
            #expect(throws: VaultFault.notAuthentic) { try vault.open(sealed, in: other, of: Self.row) }
        }
    }

    @Test func `a ciphertext with any bit changed, cut or extended does not open`() throws {
        let vault = try vault("a")
        let sealed = vault.seal(Self.secret, in: .customersPerson, of: Self.row)
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: VaultFault.self) { try vault.open(changed, in: .customersPerson, of: Self.row) }
            }
        }
        for count in 0..<sealed.count {
            #expect(throws: VaultFault.self) {
                try vault.open(Array(sealed.prefix(count)), in: .customersPerson, of: Self.row)
            }
        }
        #expect(throws: VaultFault.notAuthentic) { try vault.open(sealed + [0], in: .customersPerson, of: Self.row) }
    }

    @Test(
        arguments: [
            [], [1], [0], [1, 0], [1, 255], [2, 1, 97], [1, 1, 97], [1, 1, 0] + [UInt8](repeating: 0, count: 28),
            [1, 0] + [UInt8](repeating: 0, count: 28), [1, 33] + [UInt8](repeating: 97, count: 61),
            [2, 1, 97] + [UInt8](repeating: 0, count: 28), [1, 1, 97] + [UInt8](repeating: 0, count: 27),
        ] as [[UInt8]])
    func `bytes that no vault made are told from altered ones`(bytes: [UInt8]) throws {
        let vault = try vault("a")
        #expect(throws: VaultFault.malformed) { try vault.open(bytes, in: .customersPerson, of: Self.row) }
    }

    @Test func `the first key encrypts and all decrypt`() throws {
        let (old, both, new) = (try vault("a"), try vault("b", "a"), try vault("b"))
        let before = old.seal(Self.secret, in: .customersPerson, of: Self.row)
        let after = both.seal(Self.secret, in: .customersPerson, of: Self.row)
        #expect(try both.open(before, in: .customersPerson, of: Self.row) == Self.secret)
        #expect(try both.open(after, in: .customersPerson, of: Self.row) == Self.secret)
        #expect(try new.open(after, in: .customersPerson, of: Self.row) == Self.secret)
        #expect(throws: VaultFault.unknownKey(id: "a")) { try new.open(before, in: .customersPerson, of: Self.row) }
        #expect(throws: VaultFault.unknownKey(id: "b")) { try old.open(after, in: .customersPerson, of: Self.row) }
    }

    @Test func `another key under the same id does not open`() throws {
        let sealed = try vault("a").seal(Self.secret, in: .customersPerson, of: Self.row)
        let key = try #require(EncryptionKey(id: "a", bytes: [UInt8](repeating: 9, count: 32)))
        let other = Vault(encryptionKeys: [key], lookupKey: try lookupKey(1))
        #expect(throws: VaultFault.notAuthentic) { try other.open(sealed, in: .customersPerson, of: Self.row) }
    }

    @Test func `the same plaintext gives another ciphertext each time, of the same length`() throws {
        let vault = try vault("a")
        let sealed = (0..<100).map { _ in vault.seal(Self.secret, in: .enrollmentsDevice, of: Self.row) }
        #expect(Set(sealed).count == 100)
        #expect(Set(sealed.map(\.count)) == [3 + 12 + Self.secret.count + 16])
        let nothing = vault.seal([], in: .enrollmentsDevice, of: Self.row)
        #expect(try vault.open(nothing, in: .enrollmentsDevice, of: Self.row) == [])
    }

    /// Data that is stored today must open tomorrow. Both were computed from the description of the format, by other
    /// implementations of HKDF, AES-GCM and HMAC.
    @Test func `the format stays what it is`() throws {
        let sealed = try bytes(
            "010161" + "000102030405060708090a0b" + "4fd1f09b845c8be6a217a8efa926"
                + "52a22686a2581e168df48dedc76f383b")
        #expect(try vault("a").open(sealed, in: .customersPerson, of: Self.row) == Self.secret)
        let digest = try bytes("ef8600e25c6f8a2b9e4a63cc2a29ebaa8d8e2fbdcfd735c76f66dcb1ef0dbb40")
        #expect(try vault("a").lookup("52998224725", for: .taxID) == digest)
    }

    @Test func `a look-up is the same for the same bytes and purpose alone`() throws {
        let vault = try vault("a")
        let digest = vault.lookup("52998224725", for: .taxID)
        #expect(digest.count == 32)
        #expect(digest == vault.lookup(Array("52998224725".utf8), for: .taxID))
        #expect(digest == vault.lookup("x52998224725".utf8.dropFirst(), for: .taxID))
        #expect(digest == (try self.vault("b")).lookup("52998224725", for: .taxID))
        #expect(digest != vault.lookup("52998224726", for: .taxID))
        #expect(Set(LookupPurpose.allCases.map { vault.lookup("same", for: $0) }).count == LookupPurpose.allCases.count)
        #expect(digest != Array(SHA256.hash(data: Array("52998224725".utf8))))
    }

    @Test func `another look-up key finds nothing again`() throws {
        let key = try #require(EncryptionKey(id: "a", bytes: Self.keyBytes("a")))
        let other = Vault(encryptionKeys: [key], lookupKey: try lookupKey(2))
        #expect(try vault("a").lookup("52998224725", for: .taxID) != other.lookup("52998224725", for: .taxID))
    }

    @Test(arguments: ["", "a b", "a:b", "a,b", "é", "a\n", String(repeating: "a", count: 33)])
    func `an id that could be misread, or a key of another size, is refused`(id: String) throws {
        #expect(EncryptionKey(id: id, bytes: Self.keyBytes("a")) == nil)
        for count in [0, 16, 24, 31, 33, 64] {
            #expect(EncryptionKey(id: "a", bytes: [UInt8](repeating: 1, count: count)) == nil)
            #expect(LookupKey(bytes: [UInt8](repeating: 1, count: count)) == nil)
        }
    }

    @Test func `keys print as redacted`() throws {
        let key = try #require(EncryptionKey(id: "a", bytes: Self.keyBytes("a")))
        var dumped = ""
        dump((key, try lookupKey(1)), to: &dumped)
        #expect("\(key) \(try lookupKey(1))" == "‹redacted› ‹redacted›")
        #expect(!dumped.contains("97"))
    }

    private func vault(_ ids: String...) throws -> Vault {
        let keys = try ids.map { try #require(EncryptionKey(id: $0, bytes: Self.keyBytes($0))) }
        return Vault(encryptionKeys: keys, lookupKey: try lookupKey(1))
    }

    private func lookupKey(_ byte: UInt8) throws -> LookupKey {
        try #require(LookupKey(bytes: [UInt8](repeating: byte, count: 32)))
    }

    private static func keyBytes(_ id: String) -> [UInt8] {
        [UInt8](repeating: id.utf8.first ?? 0, count: 32)
    }
}

private func bytes(_ hexadecimal: String) throws -> [UInt8] {
    let digits = Array(hexadecimal)
    return try stride(from: 0, to: digits.count, by: 2).map {
        try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16))
    }
}

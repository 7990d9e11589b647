import JSON

/// The keys that tokens are checked with at one time.
struct KeySet: Sendable {
    private let keys: [VerificationKey]
    /// How many keys of the document cannot be used here.
    let ignoredCount: Int

    var count: Int { keys.count }

    /// The one secret that signs tokens.
    init(_ secret: SharedSecret) async throws {
        keys = [try await VerificationKey(.secret(secret), algorithm: .hs256, id: nil)]
        ignoredCount = 0
    }

    /// Reads a JSON Web Key Set (RFC 7517 §5). Keys that cannot be used here are passed over.
    ///
    /// Throws `KeySetFault` when it is none, or holds no key that can be used.
    init(document: [UInt8]) async throws {
        guard document.count <= KeySet.documentBytesMax else { throw KeySetFault.tooLarge }
        let list: JSONValue
        do {
            let root = try JSONDocument(parsing: document).root
            guard let keys = root["keys"], keys.kind == .array else {
                throw KeySetFault.notAKeySet("there are no keys")
            }
            list = keys
        } catch let error as JSONSyntaxError {
            throw KeySetFault.notAKeySet("\(error)")
        }
        var keys: [VerificationKey] = []
        var ignoredCount = 0
        for element in list.elements {
            guard let record = PublicKeyRecord(element) else {
                ignoredCount += 1
                continue
            }
            for algorithm in record.algorithms {
                keys.append(try await VerificationKey(record.material, algorithm: algorithm, id: record.id))
            }
            guard keys.count <= KeySet.keysMax else { throw KeySetFault.tooLarge }
        }
        guard !keys.isEmpty else { throw KeySetFault.noUsableKey(ignored: ignoredCount) }
        self.keys = keys
        self.ignoredCount = ignoredCount
    }

    /// The keys that may have signed a token: those with its `kid`, or else those that have no id; all of them when
    /// the token names none. Their algorithm is the token's.
    ///
    /// Throws `unknownKey` when no key answers to the id, and `algorithmNotAllowed` when one does and is used with
    /// another algorithm.
    func candidates(
        for token: SignedToken, _ algorithm: TokenAlgorithm
    ) throws(AuthenticationFault) -> [VerificationKey] {
        var named = keys
        if let keyID = token.keyID {
            named = keys.filter { $0.id?.utf8.elementsEqual(keyID.utf8) ?? false }
            if named.isEmpty { named = keys.filter { $0.id == nil } }
        }
        guard !named.isEmpty else { throw .unknownKey }
        let fitting = named.filter { $0.algorithm == algorithm }
        guard !fitting.isEmpty else { throw token.keyID == nil ? .unknownKey : .algorithmNotAllowed }
        // Each one costs a signature check, for every token.
        guard fitting.count <= KeySet.candidatesMax else { throw .unknownKey }
        return fitting
    }

    static let documentBytesMax = 262_144
    static let keysMax = 128
    static let candidatesMax = 4
}

/// Why there are no new keys. It holds no byte of any.
package enum KeySetFault: Error, Equatable, Sendable {
    /// The file or address could not be read.
    case unreachable(String)
    case tooLarge
    case notAKeySet(String)
    /// The set is fine and holds nothing with which RS256, PS256, ES256 or EdDSA could be checked.
    case noUsableKey(ignored: Int)
}

extension KeySetFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let reason): "the key set cannot be read: \(reason)"
        case .tooLarge: "the key set has more than \(KeySet.documentBytesMax) bytes or \(KeySet.keysMax) keys"
        case .notAKeySet(let reason): "this is no JSON Web Key Set: \(reason)"
        case .noUsableKey(let ignored): "none of the \(ignored) keys in the set is for RS256, PS256, ES256 or EdDSA"
        }
    }
}

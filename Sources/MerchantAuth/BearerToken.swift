import Crypto

/// A token as it came in a request: bounded, and nothing else is known about it.
package struct BearerToken {
    private let text: Substring.UTF8View

    /// The longest token that is read.
    package static let bytesMax = 8_192

    /// Takes the values of a request's `Authorization` fields, of which there has to be one (RFC 6750 §2.1).
    ///
    /// Two would be read differently by different readers on the way.
    init(authorizationValues values: [String]) throws(AuthenticationFault) {
        guard let value = values.first else { throw .missing }
        guard values.count == 1 else { throw .repeated }
        let scheme = value.utf8.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.count == BearerToken.scheme.count,
            zip(scheme, BearerToken.scheme).allSatisfy({ $0 | 0x20 == $1 })
        else { throw .notBearer }
        let rest = value.utf8[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") }
        guard !rest.isEmpty else { throw .missing }
        guard rest.count <= BearerToken.bytesMax else { throw .tooLong }
        text = rest
    }

    var bytes: [UInt8] { Array(text) }

    /// The key under which a token that was found good is kept.
    var digest: TokenDigest { TokenDigest(of: text) }

    private static let scheme = Array("bearer".utf8)
}

/// The SHA-256 of a token, so that the token itself is not kept.
struct TokenDigest: Hashable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    fileprivate init(of text: Substring.UTF8View) {
        var hash = SHA256()
        // A string that came over the wire is contiguous; the copy is for any other.
        if text.withContiguousStorageIfAvailable({ hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }) == nil {
            hash.update(data: Array(text))
        }
        words = hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self) }
    }

    static func == (left: TokenDigest, right: TokenDigest) -> Bool {
        left.words == right.words
    }

    /// One word is enough: all of them are as good as random.
    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
    }
}

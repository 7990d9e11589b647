import COpenSSL

/// A public key that was received as a COSE_Key, rebuilt as X.509 DER so that OpenSSL judges it on its own terms.
struct PublicKey {
    private let der: [UInt8]

    struct Unsuitable: Error {}

    init(cose: [StrictCBOR: StrictCBOR]) throws {
        switch cose[.integer(3)] {
        case .integer(-7):
            guard cose.count == 5, cose[.integer(1)] == .integer(2), cose[.integer(-1)] == .integer(1),
                let x = cose[.integer(-2)]?.bytes, let y = cose[.integer(-3)]?.bytes, x.count == 32, y.count == 32
            else { throw Unsuitable() }
            // RFC 5480 §2.2: SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { uncompressed point } }.
            der =
                [
                    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
                    0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
                ] + x + y
        case .integer(-257):
            guard cose.count == 4, cose[.integer(1)] == .integer(3),
                let modulus = cose[.integer(-1)]?.bytes, let exponent = cose[.integer(-2)]?.bytes,
                modulus.count == 256, modulus.first != 0, exponent == [1, 0, 1]
            else { throw Unsuitable() }
            let algorithm: [UInt8] = [
                0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
            ]
            // RFC 8017 §A.1.1 in RFC 5280 §4.1. The zero before the modulus keeps it positive.
            let key = Self.element(0x30, Self.element(0x02, [0] + modulus) + Self.element(0x02, exponent))
            der = Self.element(0x30, algorithm + Self.element(0x03, [0] + key))
        default: throw Unsuitable()
        }
    }

    /// Wraps `EVP_DigestVerify` with SHA-256. What it notes of a bad signature is not left to this thread's next
    /// user of OpenSSL.
    func verifies(_ signature: [UInt8], of message: [UInt8]) throws -> Bool {
        defer { ERR_clear_error() }
        let key = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        // Null also for a point that is not on the curve.
        guard let key, let context = EVP_MD_CTX_new() else { throw Unsuitable() }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { throw Unsuitable() }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return [tag] + length + content
    }
}

import COpenSSL

/// A private key. Wraps OpenSSL's `EVP_PKEY`.
///
/// Safe to share although the compiler cannot see it: the key is never changed after its making, OpenSSL counts
/// references atomically, and every signature has a context of its own.
final class PrivateKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Makes a new one. Wraps `EVP_PKEY_generate`.
    init(generating algorithm: Algorithm) throws(PhoneError) {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, algorithm == .es256 ? "EC" : "RSA", nil) else {
            throw .openSSL()
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_keygen_init(context) == 1 else { throw .openSSL() }
        let isPrepared =
            switch algorithm {
            case .es256: EVP_PKEY_CTX_set_group_name(context, "P-256")
            case .rs256: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
            }
        var key: OpaquePointer?
        guard isPrepared == 1, EVP_PKEY_generate(context, &key) == 1, let key else { throw .openSSL() }
        self.key = key
    }

    /// Takes back what `der` gave. Wraps `d2i_AutoPrivateKey`, which may note errors although it succeeds.
    init(der: [UInt8]) throws(PhoneError) {
        defer { ERR_clear_error() }
        let key = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
        guard let key else { throw .openSSL() }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// The key in its customary DER form: RFC 5915 for ECDSA, RFC 8017 for RSA. Wraps `i2d_PrivateKey`.
    func der() throws(PhoneError) -> [UInt8] {
        let count = i2d_PrivateKey(key, nil)
        guard count > 0 else { throw .openSSL() }
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, written in
            var start = bytes.baseAddress
            written = Int(i2d_PrivateKey(key, &start))
        }
    }

    /// The signature with SHA-256: ASN.1 DER for ECDSA (WebAuthn §6.5.5), PKCS #1 for RSA. Wraps `EVP_DigestSign`.
    func sign(_ message: [UInt8]) throws(PhoneError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .openSSL() }
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { throw .openSSL() }
        // The first call gives the longest possible length, the second one the true length.
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { throw .openSSL() }
        return Array(signature.prefix(count))
    }

    /// A number of the key as unsigned big-endian bytes without leading zeros, or with as many as `width` asks.
    /// Wraps `EVP_PKEY_get_bn_param`.
    func number(_ name: String, width: Int32 = 0) throws(PhoneError) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { throw .openSSL() }
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(max(width, (BN_num_bits(number) + 7) / 8)))
        guard BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count else { throw .openSSL() }
        return bytes
    }
}

extension PhoneError {
    /// The last error of OpenSSL's queue of this thread, which is emptied: a TLS connection on the same
    /// thread would take what is left there for its own. Wraps `ERR_peek_last_error`.
    static func openSSL() -> PhoneError {
        defer { ERR_clear_error() }
        return .cryptography(ERR_reason_error_string(ERR_peek_last_error()).map { String(cString: $0) } ?? "no reason")
    }
}

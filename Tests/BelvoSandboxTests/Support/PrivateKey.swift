import COpenSSL

/// A key pair made by OpenSSL.
final class PrivateKey {
    private let key: OpaquePointer
    private let kind: Device.Kind

    init(_ kind: Device.Kind) {
        self.kind = kind
        let context = EVP_PKEY_CTX_new_from_name(nil, kind == .es256 ? "EC" : "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch kind {
        case .es256: EVP_PKEY_CTX_set_group_name(context, "prime256v1")
        case .rs256: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
        }
        var made: OpaquePointer?
        guard EVP_PKEY_generate(context, &made) == 1, let made else { preconditionFailure("no key was made") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    func sign(_ message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
        var count = 512
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else {
            preconditionFailure("nothing was signed")
        }
        return Array(signature[..<count])
    }

    /// The public key as COSE encodes it.
    var cose: [UInt8] {
        switch kind {
        case .es256:
            [0xA5] + CBOR.number(1) + CBOR.number(2) + CBOR.number(3) + CBOR.number(-7) + CBOR.number(-1)
                + CBOR.number(1) + CBOR.number(-2) + CBOR.bytes(number(OSSL_PKEY_PARAM_EC_PUB_X, 32))
                + CBOR.number(-3) + CBOR.bytes(number(OSSL_PKEY_PARAM_EC_PUB_Y, 32))
        case .rs256:
            [0xA4] + CBOR.number(1) + CBOR.number(3) + CBOR.number(3) + CBOR.number(-257) + CBOR.number(-1)
                + CBOR.bytes(number(OSSL_PKEY_PARAM_RSA_N, 256)) + CBOR.number(-2)
                + CBOR.bytes(number(OSSL_PKEY_PARAM_RSA_E, 3))
        }
    }

    private func number(_ name: String, _ count: Int) -> [UInt8] {
        var number: OpaquePointer?
        EVP_PKEY_get_bn_param(key, name, &number)
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: count)
        BN_bn2binpad(number, &bytes, Int32(count))
        return bytes
    }
}

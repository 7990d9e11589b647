import COpenSSL

extension COSEKey {
    /// Whether the signature over the message is this key's, with SHA-256. A key that is none, such as a
    /// point off the curve, verifies nothing. Wraps `EVP_DigestVerify`.
    func verifies(signature: [UInt8], of message: [UInt8]) -> Bool {
        // A failed check leaves entries in OpenSSL's queue of this thread, which the next TLS call on it
        // would take for its own.
        defer { ERR_clear_error() }
        guard let key = makeKey() else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The key as OpenSSL holds it; the caller frees it.
    private func makeKey() -> OpaquePointer? {
        guard let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        switch self {
        case .es256(let x, let y):
            let point = [0x04] + x + y
            return point.withUnsafeBufferPointer { bytes in
                guard
                    OSSL_PARAM_BLD_push_utf8_string(builder, COSEKey.name("group"), COSEKey.name("prime256v1"), 0) == 1,
                    OSSL_PARAM_BLD_push_octet_string(builder, COSEKey.name("pub"), bytes.baseAddress, bytes.count) == 1
                else { return nil }
                return COSEKey.makeKey("EC", builder)
            }
        case .rs256(let modulus, let exponent):
            guard let n = BN_bin2bn(modulus, Int32(modulus.count), nil) else { return nil }
            defer { BN_free(n) }
            guard let e = BN_bin2bn(exponent, Int32(exponent.count), nil) else { return nil }
            defer { BN_free(e) }
            guard OSSL_PARAM_BLD_push_BN(builder, COSEKey.name("n"), n) == 1,
                OSSL_PARAM_BLD_push_BN(builder, COSEKey.name("e"), e) == 1
            else { return nil }
            return COSEKey.makeKey("RSA", builder)
        }
    }

    /// A text that lives as long as the program. The builder keeps pointers to names and texts instead of
    /// copies, so a Swift string passed directly would be gone before it is read.
    private static func name(_ text: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    /// Wraps `EVP_PKEY_fromdata`.
    private static func makeKey(_ kind: String, _ builder: OpaquePointer) -> OpaquePointer? {
        guard let parameters = OSSL_PARAM_BLD_to_param(builder) else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_fromdata_init(context) == 1 else { return nil }
        var key: OpaquePointer?
        // `EVP_PKEY_PUBLIC_KEY`, which Swift cannot read.
        let selection =
            OSSL_KEYMGMT_SELECT_PUBLIC_KEY | OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS
            | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS
        guard EVP_PKEY_fromdata(context, &key, selection, parameters) == 1 else { return nil }
        return key
    }
}

import COpenSSL
import Glibc

/// A certificate authority that issues right and wrong certificates, in files of its own directory.
public final class TestAuthority: Sendable {
    /// A certificate chain and its key, as files.
    public struct Identity: Sendable {
        public let certificateFile: String
        public let keyFile: String
    }

    /// The authority's own certificate: a client that trusts this file trusts what it issues.
    public let certificateFile: String
    private let directory: String
    // OpenSSL's objects are only read after `init`, and count their references atomically.
    private nonisolated(unsafe) let key: OpaquePointer
    // As above.
    private nonisolated(unsafe) let certificate: OpaquePointer

    public init(name: String = "Test Authority") throws {
        var template = Array("/tmp/test-authority.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandFailure("mkdtemp: \(String(cString: strerror(errno)))") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        key = try makeKey()
        certificate = try makeCertificate(
            subject: name, key: key, issuer: nil, signedWith: key, validFrom: -86_400, until: 86_400,
            extensions: [(NID_basic_constraints, "critical,CA:TRUE")])
        certificateFile = "\(directory)/authority.pem"
        try write(certificate, to: certificateFile)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
        // What is left in /tmp is small, and an authority lives as long as its test.
        _ = try? runCommand(["/bin/rm", "-r", directory])
    }

    /// Issues a certificate for the names, as in `DNS:localhost,IP:127.0.0.1`, valid between the two moments, in
    /// seconds from now. A self-signed one has no issuer that is trusted.
    public func issue(
        _ names: String, validFrom: Int = -3600, until: Int = 3600, isSelfSigned: Bool = false
    ) throws -> Identity {
        let subjectKey = try makeKey()
        defer { EVP_PKEY_free(subjectKey) }
        let leaf = try makeCertificate(
            subject: "test server", key: subjectKey, issuer: isSelfSigned ? nil : certificate,
            signedWith: isSelfSigned ? subjectKey : key, validFrom: validFrom, until: until,
            extensions: [(NID_subject_alt_name, names)])
        defer { X509_free(leaf) }
        let name = "\(directory)/\(UInt64.random(in: 0 ... .max))"
        try write(leaf, to: "\(name).pem")
        let file = try require(BIO_new_file("\(name).key", "w"))
        defer { BIO_free(file) }
        guard PEM_write_bio_PrivateKey(file, subjectKey, nil, nil, 0, nil, nil) == 1 else { throw failure() }
        return Identity(certificateFile: "\(name).pem", keyFile: "\(name).key")
    }
}

private func makeKey() throws -> OpaquePointer {
    let context = try require(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil))
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
        EVP_PKEY_keygen(context, &key) == 1
    else { throw failure() }
    return try require(key)
}

/// Makes a certificate that its own key signs when there is no issuer.
private func makeCertificate(
    subject: String, key: OpaquePointer, issuer: OpaquePointer?, signedWith signer: OpaquePointer,
    validFrom: Int, until: Int, extensions: [(Int32, String)]
) throws -> OpaquePointer {
    let certificate = try require(X509_new())
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1..<1_000_000_000))
    X509_gmtime_adj(X509_getm_notBefore(certificate), validFrom)
    X509_gmtime_adj(X509_getm_notAfter(certificate), until)
    X509_set_pubkey(certificate, key)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0)
    X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0) } ?? name)
    for (identifier, value) in extensions {
        let entry = try require(X509V3_EXT_conf_nid(nil, nil, identifier, value))
        X509_add_ext(certificate, entry, -1)
        X509_EXTENSION_free(entry)
    }
    guard X509_sign(certificate, signer, EVP_sha256()) > 0 else { throw failure() }
    return certificate
}

private func write(_ certificate: OpaquePointer, to path: String) throws {
    let file = try require(BIO_new_file(path, "w"))
    defer { BIO_free(file) }
    guard PEM_write_bio_X509(file, certificate) == 1 else { throw failure() }
}

private func require(_ pointer: OpaquePointer?) throws -> OpaquePointer {
    guard let pointer else { throw failure() }
    return pointer
}

private func failure() -> CommandFailure {
    CommandFailure(ERR_reason_error_string(ERR_get_error()).map { String(cString: $0) } ?? "OpenSSL failed")
}

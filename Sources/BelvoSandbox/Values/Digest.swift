import COpenSSL

/// SHA-256 and its HMAC, from OpenSSL.
enum Digest {
    /// Wraps `EVP_Digest`.
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let outcome = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        precondition(outcome == 1, "SHA-256 is part of every OpenSSL")
        return digest
    }

    /// Wraps `EVP_Q_mac`.
    static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var count = 0
        let outcome = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &digest, digest.count, &count)
        precondition(outcome != nil && count == 32, "HMAC is part of every OpenSSL")
        return digest
    }
}

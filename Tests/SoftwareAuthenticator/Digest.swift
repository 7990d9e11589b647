import COpenSSL

enum Digest {
    /// SHA-256 of the bytes. Wraps `SHA256`, which cannot fail.
    static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let message = Array(bytes)
        return [UInt8](unsafeUninitializedCapacity: 32) { digest, written in
            SHA256(message, message.count, digest.baseAddress)
            written = 32
        }
    }
}

extension [UInt8] {
    /// So many random bytes.
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }
}

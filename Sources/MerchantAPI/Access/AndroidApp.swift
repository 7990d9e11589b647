/// An Android app that may use this server's passkeys and links: its package and a certificate that signs it.
package struct AndroidApp: Hashable, Sendable {
    package let package: String
    /// The certificate's SHA-256: 32 pairs of hexadecimal digits in upper case, with colons between them.
    package let fingerprint: String

    package init(package: String, fingerprint: String) {
        self.package = package
        self.fingerprint = fingerprint
    }
}

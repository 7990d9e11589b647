import HTTP

/// Has browsers reach this host by https only from their first answer on (`Strict-Transport-Security`, RFC 6797).
///
/// Where `PUBLIC_BASE_URL` is https every answer says so, whether TLS ends here or at a proxy in front (§7.2 forbids it
/// over plain HTTP, and such a proxy's clients do not get it that way). Other hosts of the domain are not spoken for:
/// they are not this server's.
package struct TransportSecurity: Sendable {
    private let isPromised: Bool

    /// Takes where phones and browsers reach this server.
    package init(publicBaseURL: URL) {
        isPromised = publicBaseURL.origin.scheme == .https
    }

    /// Adds the promise to an answer, where it is made.
    package func apply(to response: inout Response) {
        if isPromised { response.headers.append("strict-transport-security", Self.year) }
    }

    /// In seconds.
    private static let year = "max-age=31536000"
}

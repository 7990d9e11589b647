/// A public key as an authenticator encodes it (RFC 9052 §7, RFC 8230 §4), of the two kinds that the
/// registration options offer.
enum COSEKey: Sendable, Equatable {
    /// A point on P-256, each coordinate 32 bytes.
    case es256(x: [UInt8], y: [UInt8])
    case rs256(modulus: [UInt8], exponent: [UInt8])

    /// COSE's number of the algorithm.
    var algorithm: Int64 {
        switch self {
        case .es256: -7
        case .rs256: -257
        }
    }

    init(_ value: CBORValue) throws(WebAuthnFault) {
        switch (value[1]?.int64, value[3]?.int64) {
        case (2, -7):
            guard value[-1]?.int64 == 1, let x = value[-2]?.byteString, let y = value[-3]?.byteString,
                x.count == 32, y.count == 32
            else { throw .publicKey }
            self = .es256(x: x, y: y)
        case (3, -257):
            guard let modulus = value[-1]?.byteString, let exponent = value[-2]?.byteString,
                (256...1024).contains(modulus.count), (1...8).contains(exponent.count)
            else { throw .publicKey }
            self = .rs256(modulus: modulus, exponent: exponent)
        default:
            throw .publicKey
        }
    }
}

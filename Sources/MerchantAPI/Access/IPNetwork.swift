import Transport

/// A block of addresses of one family: `10.0.0.0/8`, or a single address (RFC 4632 §3.1, RFC 4291 §2.3).
package struct IPNetwork: Hashable, Sendable {
    private let address: IPAddress
    /// How many leading bits an address shares with all others of the network.
    private let prefixLength: Int

    /// Reads an address with or without the length of its prefix; nothing for any other text. Bits behind the prefix
    /// do not matter.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        self.address = address
        let isMapped = parts[0].contains(":") && address.bitCount == 32
        guard parts.count == 2 else {
            prefixLength = address.bitCount
            return
        }
        // The prefix of an IPv4 address in IPv6's clothes would count other bits than the address that it became.
        guard !isMapped, parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let length = Int(parts[1]), length <= address.bitCount
        else { return nil }
        prefixLength = length
    }

    /// Whether the address lies in the network. Addresses of the other family never do.
    package func contains(_ other: IPAddress) -> Bool {
        switch (address, other) {
        case (.v4(let own), .v4(let bits)):
            (own ^ bits) >> UInt32(32 - prefixLength) == 0
        case (.v6(let ownHigh, let ownLow), .v6(let high, let low)):
            prefixLength <= 64
                ? (ownHigh ^ high) >> UInt64(64 - prefixLength) == 0
                : ownHigh == high && (ownLow ^ low) >> UInt64(128 - prefixLength) == 0
        default: false
        }
    }
}

extension IPAddress {
    fileprivate var bitCount: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }
}

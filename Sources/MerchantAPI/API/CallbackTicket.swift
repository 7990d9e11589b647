import FoundationEssentials
import JSON
import MerchantWorkflows

/// Stands for a redirect that was stored, in an address that may be asked for again and again.
///
/// It proves that its holder has brought that redirect, and nothing else: the receipt's id, and the id's digest
/// under a key of its own. A code or a `state` cannot be found from it, and no client can make one.
struct CallbackTicket: Sendable {
    let receipt: UUID

    private static let idBytes = 16

    /// The ticket of a receipt, as it stands in an address: 64 characters that need no escaping.
    static func text(for receipt: UUID, _ digest: (_ id: [UInt8]) -> [UInt8]) -> String {
        let id = withUnsafeBytes(of: receipt.uuid) { Array($0) }
        return Base64URL.encode(id + digest(id))
    }

    /// Reads a ticket; nothing for one that was not made here.
    init?(_ text: String, _ digest: (_ id: [UInt8]) -> [UInt8]) {
        guard let bytes = Base64URL.decode(text), bytes.count > CallbackTicket.idBytes else { return nil }
        let id = Array(bytes[..<CallbackTicket.idBytes])
        let given = bytes[CallbackTicket.idBytes...]
        let right = digest(id)
        // Every byte is compared, so that the time says nothing about the first wrong one.
        guard given.count == right.count, zip(given, right).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 else { return nil }
        receipt = id.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

import FoundationEssentials

extension Payment {
    /// A charge or a transaction that has collected money for a payment.
    public struct Collection: Sendable, Hashable {
        /// The transfer that brought the money; nil where Belvo names none.
        public let transfer: EndToEndID?
        /// Belvo's id of the charge or transaction; nil where it cannot be read.
        public let object: UUID?
        /// The amount that it has brought; nil where Belvo does not say.
        public let amount: Money?

        public init(transfer: EndToEndID?, object: UUID?, amount: Money? = nil) {
            self.transfer = transfer
            self.object = object
            self.amount = amount
        }

        /// The ids by which it is known again. One reading may leave out what another one shows.
        public var names: [String] {
            let known = [transfer?.description, object?.uuidString.lowercased()].compactMap { $0 }
            return known.isEmpty ? ["unnamed"] : known
        }

        /// The most ids that are kept of one payment. Beyond them nothing counts as new.
        static let namesMax = 400

        func isKnown(in known: Set<String>) -> Bool {
            known.count >= Self.namesMax || !known.isDisjoint(with: names)
        }

        func noted(in known: Set<String>) -> Set<String> {
            known.count >= Self.namesMax ? known : known.union(names)
        }
    }

    /// Whether money came by a collection that was not known yet, after Belvo called the payment FAILED.
    public func isCollectedAnew(by collection: Collection) -> Bool {
        state == .failed && isClosedAtBelvo && !collection.isKnown(in: collectedBy)
    }
}

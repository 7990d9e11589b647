import FoundationEssentials

extension Payment {
    /// A charge or a transaction that has collected money for a payment.
    public struct Collection: Sendable, Hashable {
        /// The transfer that brought the money; nil where Belvo names none.
        public let transfer: EndToEndID?
        /// Belvo's id of the charge or transaction; nil where it cannot be read.
        public let object: UUID?
        public let amount: Amount

        public init(transfer: EndToEndID?, object: UUID?, amount: Amount = .unsaid) {
            self.transfer = transfer
            self.object = object
            self.amount = amount
        }

        /// The amount that a collection has brought, as far as Belvo says.
        public enum Amount: Sendable, Hashable {
            case unsaid
            case money(Money)
            /// It is no amount in reais.
            case unreadable
        }

        /// The ids by which it is known again. One reading may leave out what another one shows.
        public var names: [String] {
            let known = [transfer?.description, object?.uuidString.lowercased()].compactMap { $0 }
            return known.isEmpty ? ["unnamed"] : known
        }

        /// The amount, in words, that it has brought in the place of that one; nil where it says nothing else.
        public func otherAmount(than asked: Money) -> String? {
            switch amount {
            case .unsaid: nil
            case .money(let brought): brought == asked ? nil : brought.description
            case .unreadable: "no readable amount"
            }
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

    /// Whether a collection would dispute a payment that has been paid: another transfer, or another amount.
    public func isDisputed(by collection: Collection) -> Bool {
        guard state == .succeeded else { return false }
        return isFurther(collection.transfer) || collection.otherAmount(than: amount) != nil
    }

    /// Whether a report would dispute a payment that has been paid: it differs, or shows other money.
    public func isDisputed(by report: Report) -> Bool {
        guard state == .succeeded, report.status == .succeeded || report.status == .failed else { return false }
        return isFurther(report.facts.endToEndID) || report.hasOnlyEndedCharges
            || !differences(from: report).isEmpty || report.collected.contains(where: isDisputed)
    }

    /// Whether a transfer is another one than those that are known to have brought its money.
    private func isFurther(_ transfer: EndToEndID?) -> Bool {
        guard let transfer, transfer != facts.endToEndID else { return false }
        return !collectedBy.contains(transfer.description)
    }
}

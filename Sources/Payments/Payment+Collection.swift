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

    /// Whether a collection has to be shown twice before it counts: it would say of a payment that another amount came
    /// than was asked for, of one that has been paid that another transfer has brought money, or of one that Belvo does
    /// not show as paid that money came.
    public func isDisputed(by collection: Collection) -> Bool {
        if collection.otherAmount(than: amount) != nil { return true }
        guard state == .succeeded else { return (try? transition(on: .collected(collection))) != self }
        return isFurther(collection.transfer, than: facts.endToEndID)
    }

    /// Whether a report has to be shown twice before it counts: it would dispute a payment that has been paid, or is
    /// paid by it, or shows money of one that it does not show as paid.
    public func isDisputed(by report: Report) -> Bool {
        let paying = state == .succeeded ? facts.endToEndID : report.facts.endToEndID
        guard report.status == .succeeded || state == .succeeded && report.status == .failed else {
            return report.collected.contains(where: isDisputed)
        }
        if state == .succeeded, !differences(from: report).isEmpty { return true }
        let shown = report.collected.map(\.transfer) + [report.facts.endToEndID]
        return report.hasOnlyEndedCharges || shown.contains { isFurther($0, than: paying) }
            || report.collected.contains { $0.otherAmount(than: amount) != nil }
    }

    /// Whether a transfer is another one than the paying one and those that are known to have brought money.
    private func isFurther(_ transfer: EndToEndID?, than paying: EndToEndID?) -> Bool {
        guard let transfer, transfer != paying else { return false }
        return !collectedBy.contains(transfer.description)
    }
}

extension Payment.Report {
    /// Whether both show the same payment in the same status. What Belvo may make anew for each reading, such as a
    /// challenge or the id of a request, does not count.
    public func isSame(as other: Payment.Report) -> Bool {
        belvoID == other.belvoID && externalID == other.externalID && status == other.status
            && amount == other.amount && currency == other.currency && customer == other.customer
            && enrollment == other.enrollment && beneficiaryBankAccount == other.beneficiaryBankAccount
            && facts.endToEndID == other.facts.endToEndID
    }

    /// Whether both show the same payment, in the same status, and the same money.
    public func showsSameMoney(as other: Payment.Report) -> Bool {
        isSame(as: other) && collected == other.collected && hasOnlyEndedCharges == other.hasOnlyEndedCharges
    }
}

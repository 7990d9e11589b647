import FoundationEssentials
import Payments

/// One thing on which Belvo and we do not agree, as `ops.reconciliation_differences` shows it.
package struct Difference: Sendable, Hashable {
    /// The kind of the difference.
    package enum Kind: String, Sendable, CaseIterable {
        /// Belvo has an intent that is no payment of ours: made by the SDK alone, or by another program.
        case unknownHere = "unknown_here"
        /// We have a payment that Belvo does not know.
        case unknownAtBelvo = "unknown_at_belvo"
        case status
        case amount
        case externalID = "external_id"
        case endToEndID = "end_to_end_id"
        /// A charge succeeded for a payment that did not, or the other way round.
        case chargeStatus = "charge_status"
        case chargeAmount = "charge_amount"
        /// One intent was collected more than once.
        case chargedTwice = "charged_twice"
        /// One reference was paid by more than one payment.
        case doublePaid = "double_paid"
        /// Belvo shows something of that day that cannot be read, and so is not compared.
        case unreadable
    }

    package let kind: Kind
    /// Our payment, if there is one.
    package let payment: UUID?
    /// Belvo's intent, if there is one.
    package let intent: UUID?
    package let ours: String?
    package let theirs: String?

    package init(kind: Kind, payment: UUID?, intent: UUID?, ours: String?, theirs: String?) {
        self.kind = kind
        self.payment = payment
        self.intent = intent
        self.ours = ours
        self.theirs = theirs
    }
}

/// A day of the calendar, in UTC unless a distance from it is named.
package struct UTCDay: Sendable, Hashable, CustomStringConvertible {
    package let begin: Timestamp
    /// The day as it was given.
    package let description: String
    /// The first moment that is not of this day any more.
    package var end: Timestamp { begin + .seconds(86_400) }

    /// Reads `YYYY-MM-DD`, and the zone as `Z`, `+HH:MM` or `-HH:MM` (RFC 3339 §5.6); nil for anything else. Brazil has
    /// had no summer time since 2019: Brasília is at -03:00.
    package init?(_ text: String, zone: String = "Z") {
        guard text.utf8.count == 10, let begin = try? Timestamp("\(text)T00:00:00\(zone)") else { return nil }
        self.begin = begin
        description = text
    }

    /// The day on which the moment lies.
    package init(of moment: Timestamp) {
        let day: Int64 = 86_400_000_000
        let rest = moment.microsecondsSince1970 % day
        begin = Timestamp(microsecondsSince1970: moment.microsecondsSince1970 - (rest < 0 ? rest + day : rest))
        description = String(begin.description.prefix(10))
    }

    /// Whether the moment is of this day.
    package func contains(_ moment: Timestamp) -> Bool { begin <= moment && moment < end }
}

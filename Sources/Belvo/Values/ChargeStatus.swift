/// Where a charge stands (belvo-api.md §6.4), as far as it says something of money.
public enum ChargeStatus: Hashable, Sendable {
    /// `CREATED`, `PENDING`: the intent need not have been signed. A charge without a status says no more.
    case waiting
    /// `PROCESSING`, `SCHEDULED`: the intent was signed, and money may move.
    case underWay
    /// `SUCCEEDED`; `SETTLED` where Belvo has the words of its second version.
    case collected
    /// `FAILED`, `CANCELED`.
    case ended
    /// A word that Belvo's documents do not list: there may be money, or none.
    case unknown(String)

    /// Takes a word as Belvo spells it, in letters of any case.
    public init(_ word: String?) {
        self =
            switch word?.uppercased() {
            case nil, "", "CREATED", "PENDING": .waiting
            case "PROCESSING", "SCHEDULED": .underWay
            case "SUCCEEDED", "SETTLED": .collected
            case "FAILED", "CANCELED", "CANCELLED": .ended
            default: .unknown(word ?? "")
            }
    }
}

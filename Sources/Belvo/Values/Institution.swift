import JSON

/// A bank (belvo-api.md §3.2).
public struct Institution: Sendable, Equatable {
    public typealias ID = Identity<Institution>

    public let id: ID
    /// Belvo's short name; the name to show where it gives no other.
    public let name: String
    /// The name to show; Belvo's short name where it gives no other.
    public let displayName: String
    /// `BRA`, or what else Belvo says.
    public let country: String
    /// The address of a square logo, https; nil when Belvo gives none that may be shown.
    public let iconLogo: String?
    /// The address of the bank's name as a picture, https; nil when Belvo gives none that may be shown.
    public let textLogo: String?
    /// The bank's colour as `#` and six hexadecimal digits, which is safe in any style sheet; nil for anything else.
    public let primaryColor: String?
    /// `INDIVIDUAL` or `BUSINESS`.
    public let type: String?
    public let isActive: Bool
    /// Where Belvo would put it in a list, if it says so.
    public let sortPriority: Int64?
    /// The bank's terms of Biometric Pix; nil when it does not offer it.
    public let biometricPix: Availability?

    /// How a payment method is offered. The words are not documented: none may be relied on.
    public struct Availability: Sendable, Equatable {
        public let status: String
        public let statusReason: String?
        public let phase: String?
    }
}

/// All institutions that Belvo lists.
public struct InstitutionList: Sendable, Equatable {
    public let institutions: [Institution]

    /// How many entries were left out because they had no usable id or no name. One odd bank must not take
    /// all others from the picker; an operator may want to know.
    public let unreadable: Int
}

extension Institution {
    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        let (shown, short) = (answer.nonempty("display_name"), answer.nonempty("name"))
        guard let displayName = shown ?? short else { throw answer.wrong("display_name", "missing") }
        self.displayName = displayName
        name = short ?? displayName
        // Payments are Brazil's alone, so a bank without a country is there as well.
        country = answer.plain("country", scalarsMax: 64).flatMap { $0.isEmpty ? nil : $0 } ?? "BRA"
        iconLogo = (try? answer.link("icon_logo")) ?? nil  // A bank without its logo is still a bank.
        textLogo = (try? answer.link("text_logo")) ?? nil  // The same.
        primaryColor = answer.plain("primary_color", scalarsMax: 32).flatMap { Institution.isColor($0) ? $0 : nil }
        type = answer.plain("institution_type", scalarsMax: 64)
        // Only what says plainly that it is active can be offered.
        isActive = answer.present("active")?.bool ?? false
        sortPriority = answer.present("sort_priority")?.int64
        let methods = answer.present("payment_methods")
        biometricPix = methods?[paymentMethod].flatMap { $0.isNull ? nil : Availability($0) }
    }
}

extension Institution {
    private static func isColor(_ text: String) -> Bool {
        text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
            && text.utf8.dropFirst().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }
}

extension Institution.Availability {
    fileprivate init?(_ value: JSONValue) {
        guard let answer = try? Answer(value) else { return nil }
        status = answer.word("status") ?? ""
        statusReason = answer.plain("status_reason")
        phase = answer.plain("phase", scalarsMax: 64)
    }
}

import Foundation

/// Something that a user asked for, from the tap until it is known how it ended.
public struct PendingRequest: Codable, Sendable, Identifiable {
    /// Also its Idempotency-Key: one for each tap, the same for every repetition.
    public let id: String
    public let startedAt: Date
    let kind: Kind
    /// The server's id of the enrollment or payment, once it is known.
    public private(set) var record: String?
    /// What has to be said, or was said and has not been answered.
    var unanswered: Message?

    enum Kind: String, Codable {
        case enrollments = "v1/enrollments"
        case payments = "v1/payment-intents"
    }

    private init(_ kind: Kind, body: String) {
        id = UUID().uuidString
        startedAt = Date()
        self.kind = kind
        unanswered = Message(path: kind.rawValue, body: body, idempotencyKey: id)
    }

    /// The phone is to be bound to a bank.
    ///
    /// - Parameter bank: an id of `GET /v1/institutions`.
    /// - Parameter deviceName: shown to the user at the bank.
    /// - Parameter riskSignals: JSON text.
    /// - Parameter callbackURL: the app's own link; nil for the merchant's server.
    public static func enrollment(
        at bank: String, deviceName: String, riskSignals: String, callbackURL: URL? = nil
    ) -> PendingRequest {
        let callback = callbackURL.map { #""callback_url": \#(quoted($0.absoluteString)), "# } ?? ""
        return PendingRequest(
            .enrollments,
            body: """
                {"institution": \(quoted(bank)), "name": \(quoted(deviceName)), "platform": "IOS", \
                \(callback)"risk_signals": \(riskSignals)}
                """)
    }

    /// Something is to be paid.
    ///
    /// - Parameter enrollment: the id of one that has SUCCEEDED on this phone.
    /// - Parameter amount: in BRL, as `"19.90"`.
    /// - Parameter reference: what it is paid for, by the shop's own name: nothing is paid twice under one.
    public static func payment(
        from enrollment: String, amount: String, description: String, reference: String
    ) -> PendingRequest {
        PendingRequest(
            .payments,
            body: """
                {"enrollment": \(quoted(enrollment)), "reference": \(quoted(reference)), \
                "amount": \(quoted(amount)), "description": \(quoted(description))}
                """)
    }

    /// Where the server shows it.
    var path: String { "\(kind.rawValue)/\(record ?? "")" }

    /// A tap whose beginning was never answered, and that is too old to be carried out now.
    ///
    /// The user has long done something else about it, and the server keeps a key for 72 hours only.
    public struct Stale: Error {}

    var isStale: Bool { record == nil && startedAt.timeIntervalSinceNow < -24 * 3_600 }

    /// Crosses out what was said; the answer may have told the id, or that of a payment in the way.
    mutating func answered(_ record: String?) {
        unanswered = nil
        self.record = record ?? self.record
    }
}

/// A text as a JSON string.
private func quoted(_ text: String) -> String {
    // A string always has a JSON form; the empty one would be refused by the server, by name.
    (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? #""""#
}

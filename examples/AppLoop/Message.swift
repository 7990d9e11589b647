import Foundation

/// One request that changes something, in the words in which it is sent and, if need be, sent again.
struct Message: Codable, Sendable {
    let path: String
    let body: String
    var idempotencyKey: String?

    /// Whether the server has to be brought this once more while it does not know what became of it: what creates
    /// something, and a registration. It keeps a redirect itself, and sends a signature once.
    var isRepeatedWhileUnknown: Bool { idempotencyKey != nil || path.hasSuffix("/confirm") }
}

extension Message {
    /// What the bank gave the app along on its way back: in the query or, by some banks, in the fragment.
    static func redirection(_ address: URL) -> Message {
        let parts = URLComponents(url: address, resolvingAgainstBaseURL: false)
        var fragment = URLComponents()
        fragment.percentEncodedQuery = parts?.percentEncodedFragment?.replacingOccurrences(of: "+", with: "%20")
        let known = ["state", "code", "id_token", "error", "error_description"]
        let fields = ((parts?.queryItems ?? []) + (fragment.queryItems ?? [])).filter { known.contains($0.name) }
        let values = Dictionary(fields.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        // Texts always have a JSON form.
        let body = (try? JSONEncoder().encode(values)) ?? Data()
        return Message(path: "v1/enrollments/complete-redirection", body: String(decoding: body, as: UTF8.self))
    }

    /// The new credential's public half.
    static func confirmation(_ confirmation: String, of record: Record) -> Message {
        Message(
            path: "v1/enrollments/\(record.id)/confirm", body: #"{"confirmation_data": \#(confirmation)}"#)
    }

    /// The user's signature: from here on money may move.
    static func authorization(_ assertion: String, _ riskSignals: String, of record: Record) -> Message {
        Message(
            path: "v1/payment-intents/\(record.id)/authorize",
            body: #"{"risk_signals": \#(riskSignals), "assertion": \#(assertion)}"#)
    }
}

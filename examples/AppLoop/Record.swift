import Foundation

/// An enrollment or a payment as the server shows it.
public struct Record: Sendable {
    public let id: String
    /// `PENDING`, `SUCCEEDED` or `FAILED`.
    public let status: String
    /// What the app does next; nil when there is nothing left to do.
    public let nextAction: NextAction?
    /// Everything, as JSON, for what the app shows of it.
    public let body: Data
    /// The tag by which the server knows this very state.
    let entityTag: String?

    /// Nil when this is no enrollment or payment.
    init?(_ body: Data, entityTag: String?) {
        // What is no JSON is no record either.
        let root = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any]
        guard let root, let id = root["id"] as? String, let status = root["status"] as? String else { return nil }
        self.id = id
        self.status = status
        self.body = body
        self.entityTag = entityTag
        nextAction = (root["next_action"] as? [String: Any]).map { NextAction($0) }
    }
}

/// The server's word on what an app does next.
public enum NextAction: Sendable {
    /// The user has to approve at the bank.
    case redirect(URL)
    case poll(after: Duration)
    /// The phone makes a credential as these options (JSON text) ask.
    case register(options: String)
    /// The phone signs these options (JSON text).
    case sign(options: String)
    case retry(RetryReason)

    /// What an older app does not know it leaves to the server, and looks again.
    init(_ action: [String: Any]) {
        let page = (action["url"] as? String).flatMap { URL(string: $0) }
        switch (action["type"] as? String, page) {
        case ("redirect", let page?): self = .redirect(page)
        case ("register", _): self = .register(options: jsonText(action["fido_registration_options"]))
        case ("sign", _): self = .sign(options: jsonText(action["fido_options"]))
        case ("retry", _): self = .retry(RetryReason(rawValue: action["reason"] as? String ?? "") ?? .later)
        default: self = .poll(after: .milliseconds(action["after_ms"] as? Int ?? 2_000))
        }
    }

    /// How long to wait before the next look.
    var pause: Duration {
        if case .poll(let pause) = self { pause } else { .seconds(2) }
    }
}

private func jsonText(_ value: Any?) -> String {
    // It came out of JSON, so it goes back in.
    let data = try? JSONSerialization.data(withJSONObject: value ?? NSNull(), options: [.fragmentsAllowed])
    return String(decoding: data ?? Data(), as: UTF8.self)
}

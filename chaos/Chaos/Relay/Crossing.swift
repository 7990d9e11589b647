/// Between whom a relay stands.
public enum Leg: String, Sendable {
    /// Apps, Belvo's webhooks, and the server.
    case door
    /// The server and PostgreSQL.
    case database
    /// The server and Belvo.
    case belvo
}

/// A message that comes to the border between the server and its peer.
public struct Crossing: Sendable, Hashable {
    public let kind: Kind
    /// What it says, without ids: `POST /v1/payment-intents`, `UPDATE payments`. An answer has its question's.
    public let label: String

    /// What it is, seen from the server.
    public enum Kind: String, Sendable, CaseIterable {
        case request = "a request"
        case answer = "an answer"
        case call = "a call to Belvo"
        case reply = "Belvo's reply"
        case write = "a write"
        case commit = "the word that it is committed"
        case read = "a read"
        case rows = "its rows"
        case session = "the opening of a session"
    }
}

/// Whether a message goes on.
public enum RelayDecision: Sendable {
    case pass
    /// It does not, and both connections are reset.
    case cut
}

/// Who watches the borders. Called on the threads of relays, which may be made to wait.
public protocol Warden: Sendable {
    /// A message has come and has not been passed on.
    func before(_ crossing: Crossing) -> RelayDecision
    /// It has been passed on.
    func after(_ crossing: Crossing)
}

/// Lets everything pass.
public struct OpenBorder: Warden {
    public init() {}

    public func before(_ crossing: Crossing) -> RelayDecision { .pass }
    public func after(_ crossing: Crossing) {}
}

/// The authority that made a record terminal. It decides whether a later status may correct it (promise: terminal means
/// terminal).
public enum Authority: String, Sendable, CaseIterable {
    /// Belvo said so. Final, but for a bank's revocation of an enrollment.
    case belvo
    /// We gave up, by time or on a refusal. Belvo's status replaces ours whenever it comes.
    case merchant
}

/// Why a record is FAILED.
public struct Failure: Sendable, Hashable {
    /// A stable word that says nothing of a person: Belvo's `failure_code` or `status_reason_code`, or one of our own.
    public let code: String
    /// Belvo's sentence about it, as plain text.
    public let message: String?
    public let authority: Authority

    public init(code: String, message: String? = nil, authority: Authority) {
        self.code = code
        self.message = message
        self.authority = authority
    }

    /// Its time passed before the next step was taken.
    public static let timedOut = Failure(code: "timed_out", authority: .merchant)
    /// The user gave it up before it was authorized.
    public static let canceled = Failure(code: "canceled", authority: .merchant)
    /// Its creation was answered as not let in. What answers may not be what acts: Belvo may have it.
    public static let notLetIn = Failure(code: "not_let_in", authority: .merchant)
    /// Its creation never left this machine: Belvo does not have it.
    public static let notSent = Failure(code: "not_sent", authority: .merchant)
    /// Its creation was sent, and Belvo did not know it after the grace time.
    public static let creationLost = Failure(code: "creation_lost", authority: .merchant)
}

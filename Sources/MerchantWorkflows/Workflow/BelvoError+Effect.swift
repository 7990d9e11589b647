import Belvo
import Payments

/// The meaning of a failed call to Belvo for the request. Three properties rest on what an answer says, and an answer
/// may be wrong: something in front of Belvo may refuse what Belvo has done. Only `wasNotSent` is certain.
extension BelvoError {
    /// Whether the failure says that the request had no effect, so that the same may be tried again: it was not sent,
    /// or it was answered with 401, 403, 404, 410, 425 or 429. Good enough for what moves no money.
    var saysNoEffect: Bool {
        switch self {
        case .denied, .throttled, .unreachable, .notFound: true
        case .refused, .conflict, .unanswered, .malformedAnswer, .outcomeUnknown: false
        }
    }

    /// Whether an answer of Belvo's says that the request was not let in (401, 403, 404, 425, 429), so that the app may
    /// send its signature again (reliability.md, promise 3). The signature has left all the same.
    var saysNotLetIn: Bool {
        switch self {
        case .denied, .throttled: true
        case .notFound(let refusal): refusal.status == 404
        default: false
        }
    }

    /// Whether the failure leaves it open what became of the request: it neither refuses its content nor says that it
    /// had no effect.
    var mayHaveTakenEffect: Bool { refusal == nil && !saysNoEffect }

    /// Whether nothing of the request has left this machine, so that Belvo cannot have it. An answer never says this.
    var wasNotSent: Bool {
        if case .unreachable = self { true } else { false }
    }

    /// Whether Belvo may have processed the request: it was sent, and not answered with 425 or 429.
    var wasLetIn: Bool {
        switch self {
        case .unreachable, .throttled: false
        case .refused, .denied, .notFound, .conflict, .unanswered, .malformedAnswer, .outcomeUnknown: true
        }
    }

    /// Whether other calls would fail as well: Belvo does not answer, or lets nothing in.
    var speaksOfOutage: Bool {
        switch self {
        case .unreachable, .unanswered, .denied, .throttled: true
        case .refused, .notFound, .conflict, .malformedAnswer, .outcomeUnknown: false
        }
    }

    /// Whether Belvo refused the content.
    var refusal: Belvo.ErrorResponse? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}

/// Belvo refused a question that holds nothing of the app's: what is wrong with it is this server's to mend.
package struct InternalError: Error, CustomStringConvertible {
    package let refusal: Belvo.ErrorResponse

    package init(refusal: Belvo.ErrorResponse) {
        self.refusal = refusal
    }

    package var description: String { "Belvo refused a question of our own: \(refusal)" }
}

extension BelvoError {
    /// The same, for an app that sent nothing that Belvo could have refused.
    package var notCausedByApp: any Error {
        switch self {
        case .refused(let refusal), .conflict(let refusal): InternalError(refusal: refusal)
        default: self
        }
    }
}

extension Failure {
    /// Belvo's no, in its own first words.
    static func refused(_ refusal: Belvo.ErrorResponse) -> Failure {
        let item = refusal.items.first
        return Failure(code: item?.code ?? "refused", message: item?.message, authority: .merchant)
    }
}

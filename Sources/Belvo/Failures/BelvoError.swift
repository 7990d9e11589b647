/// Why a call to Belvo gave no usable answer.
///
/// The cases differ in what the caller may do next, and in nothing else. Which of them an answer is, is
/// decided in one place: `BelvoError.init(_:to:)`, the table of calls and outcomes.
public enum BelvoError: Error, Sendable, Equatable {
    /// Belvo understood and said no. Nothing was done, and sending the same request again changes nothing.
    case refused(ErrorResponse)

    /// Belvo, or the firewall before it, did not let us in (401, 403). Nothing was done, and nothing is said
    /// about the object: its record stays as it is, and an operator has to know.
    case denied(ErrorResponse)

    /// Belvo does not know the object that the path names. Nothing was done. An object that was made a moment
    /// ago may not be readable yet.
    case notFound(ErrorResponse)

    /// The object is in a state that does not allow this (409). Read it: it may have gone further already.
    case conflict(ErrorResponse)

    /// Belvo has had enough requests for now (429, 425). Nothing was done. The same request may be sent again
    /// after `ErrorResponse.retryAfter`, or after a pause of the caller's.
    case throttled(ErrorResponse)

    /// The request never left this machine, so nothing happened. Safe to send again, where that is known after this
    /// time and not before.
    case unreachable(reason: String, retryAfter: Duration? = nil)

    /// A call that changes nothing got no answer. Safe to send again, later.
    case unanswered(UnknownOutcome)

    /// A call that changes nothing was answered with something that is not an answer to it. Asking again
    /// rarely helps, and nothing may be concluded from it: an operator has to know. What is no JSON is the page of
    /// something in front of Belvo.
    case malformedAnswer(reason: String, isJSON: Bool = true)

    /// A call that changes something may have arrived, and how it ended is not known. Only reading shows it; what
    /// moves money is never sent again, and all else only after it was read to be absent.
    case outcomeUnknown(UnknownOutcome)
}

extension BelvoError {
    /// Whether it was not sent because there were too few calls for all.
    package var hadNoTurn: Bool {
        if case .unreachable(CallHeldBack.noTurn.reason, _) = self { true } else { false }
    }

    /// Whether it was not sent because there was no place for another call of its user or institution.
    package var hadNoShare: Bool {
        if case .unreachable(CallHeldBack.noShare.reason, _) = self { true } else { false }
    }
}

/// Why a request was not sent, though it could have been: thrown by a `Client.Carry` that decided so.
package struct CallHeldBack: Error, Sendable, Equatable {
    package let reason: String
    /// After which time it may be sent, as far as that is known.
    package let retryAfter: Duration?

    /// There was no turn for it among the others: for want of calls, or of places for its user or institution.
    package static let noTurn = CallHeldBack(reason: "the budget of calls is used up", retryAfter: .seconds(1))
    package static let noShare = CallHeldBack(reason: "its share of the calls is used up", retryAfter: .seconds(1))

    package init(reason: String, retryAfter: Duration?) {
        self.reason = reason
        self.retryAfter = retryAfter
    }
}

/// The reason why the outcome of a request that left is not known.
///
/// What may be done next does not depend on it. It is for logs, and distinguishes 504 from 503 for an app.
public enum UnknownOutcome: Sendable, Equatable {
    /// The time ran out.
    case late
    /// The answer broke off, or was not HTTP.
    case lost(reason: String)
    /// An answer came that says nothing about the outcome: 408, 5xx.
    case failed(ErrorResponse)
    /// An answer came that claims success and is not an answer to this call.
    case malformedAnswer(reason: String)
}

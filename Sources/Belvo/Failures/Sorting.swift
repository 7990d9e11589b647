import HTTP

/// How an exchange ended when it did not end with a success that could be read.
package enum Outcome: Sendable, Equatable {
    /// Nothing of the request left this machine.
    case notSent(reason: String, retryAfter: Duration? = nil)
    /// Some of it left, and no whole answer came.
    case answerLost(reason: String)
    /// The time ran out after it left.
    case timedOut
    /// A status other than 2xx.
    case status(ErrorResponse)
    /// A 2xx whose body is not what the call asks for.
    case unusable(reason: String, isJSON: Bool = true)
}

extension BelvoError {
    /// The table: what an outcome means for a call. Every failure of this module is sorted here.
    ///
    /// Two rules stand behind it. A request that may have arrived is never called failed on the strength of
    /// an answer that Belvo itself did not decide on; and a status says what it says only where the call
    /// could have earned it, so that a 404 to a creation is a wrong path and not a missing object.
    package init(_ outcome: Outcome, to call: Call) {
        let changes = call.isChanging
        func unknown(_ doubt: UnknownOutcome) -> BelvoError { changes ? .outcomeUnknown(doubt) : .unanswered(doubt) }
        func malformedAnswer(_ reason: String, isJSON: Bool) -> BelvoError {
            changes
                ? .outcomeUnknown(.malformedAnswer(reason: reason)) : .malformedAnswer(reason: reason, isJSON: isJSON)
        }

        switch outcome {
        case .notSent(let reason, let wait): self = .unreachable(reason: reason, retryAfter: wait)
        case .answerLost(let reason): self = unknown(.lost(reason: reason))
        case .timedOut: self = unknown(.late)
        case .unusable(let reason, let isJSON): self = malformedAnswer(reason, isJSON: isJSON)
        case .status(let refusal):
            switch (refusal.status, call.kind) {
            case (401, _), (403, _): self = .denied(refusal)
            // Belvo finds the enrollment by the bank's `state`: it does not know this one, and never will.
            case (404, _) where call == .completeRedirection, (410, _) where call == .completeRedirection:
                self = .refused(refusal)
            case (404, .reading), (404, .moving), (410, .reading), (410, .moving): self = .notFound(refusal)
            case (404, .creating), (404, .listing), (410, .creating), (410, .listing): self = .refused(refusal)
            case (409, _): self = .conflict(refusal)
            case (425, _), (429, _): self = .throttled(refusal)
            case (400...499, _) where BelvoError.finalStatuses.contains(refusal.status): self = .refused(refusal)
            // 408 means that Belvo gave up waiting for itself. What proxies report with a 4xx of their own,
            // such as 460 and 499 when the client closed the connection, says nothing about what happened behind them.
            case (400...499, _), (500...599, _): self = unknown(.failed(refusal))
            // Redirects among them: following one could turn a POST into a GET (belvo-api.md §1).
            default: self = malformedAnswer("status \(refusal.status)", isJSON: false)
            }
        }
    }

    /// The refusals that RFC 9110 §15.5, RFC 6585 and RFC 7725 define for a request that was not carried out.
    private static let finalStatuses: Set<Int> = [
        400, 402, 405, 406, 407, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 424, 426, 428, 431, 451,
    ]
}

extension Outcome {
    /// The outcome that the client's error names. Anything that is not one of its errors proves nothing, so the request
    /// may have arrived.
    init(_ error: any Error) {
        if let error = error as? CallHeldBack {
            self = .notSent(reason: error.reason, retryAfter: error.retryAfter)
            return
        }
        switch error as? ClientError {
        case .notSent(let reason): self = .notSent(reason: reason)
        case .answerLost(let reason): self = .answerLost(reason: reason)
        case .timedOut: self = .timedOut
        case nil: self = .answerLost(reason: "sending was given up")
        }
    }
}

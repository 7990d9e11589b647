import Belvo
import HTTP
import JSON
import MerchantAuth
import MerchantStore
import MerchantWorkflows
import Payments
import Transport

/// A request that was not granted, as the answer says it: a status, a stable code, and words that may be shown.
///
/// What is logged is in `logged`; the two texts are never the same string.
package struct APIError: Error, Sendable {
    var status: HTTP.Status
    var problem: ProblemCode
    /// One English sentence for the developer of the app.
    var detail: String
    var faults: [JSONFault] = []
    /// Seconds after which the same may be tried again.
    var retryAfterSeconds: Int?
    var belvoRequestID: String?
    /// The payment that stands in the way.
    var paymentIntent: Payment.ID?
    /// The action that helps where the same request never will.
    var nextAction: NextAction?
    /// Further header fields that the status calls for.
    var headers: [(name: HeaderName, value: String)] = []
    /// The reason for the log, where it says more than the answer.
    var logged: String?
    /// Whether an operator has to act.
    var isAlarm = false

    /// Stable, snake_case.
    var code: String { problem.rawValue }

    init(_ status: HTTP.Status, _ code: ProblemCode, _ detail: String) {
        self.status = status
        problem = code
        self.detail = detail
    }

    /// One fault of a member or parameter.
    static func invalid(_ pointer: String, _ code: String, _ message: String) -> APIError {
        invalid([JSONFault(pointer: pointer, code: code, message: message)])
    }

    static func invalid(_ faults: [JSONFault]) -> APIError {
        var error = APIError(.badRequest, .invalidRequest, "The request has faults; each is named in errors.")
        error.faults = faults
        return error
    }

    static let notFound = APIError(.notFound, .notFound, "There is no such resource.")
}

// Every failure becomes a status here, and nowhere else.
extension APIError {
    init(describing error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let error as JSONFaults: self = .invalid(error.all)
        case let error as JSONSyntaxError:
            self.init(
                .badRequest, .malformedJSON,
                "The body is not JSON: \(error.reason) (line \(error.line), column \(error.column)).")
        case let fault as MessageFault: self.init(fault)
        case let fault as AuthenticationFault: self.init(fault)
        case let refusal as AccessRefusal: self.init(refusal)
        case let refusal as WorkflowRefusal: self.init(refusal)
        case let error as BelvoError: self.init(error)
        case let mistake as InternalError: self.init(mistake)
        default:
            if let failure = StoreFailure(error) {
                self.init(failure)
                return
            }
            self.init(.internalServerError, .internalError, "Something went wrong here. It has been noted.")
            logged = "\(error)"
            isAlarm = true
        }
    }

    /// A request that could not even be read.
    package init(_ fault: MessageFault) {
        let code: ProblemCode =
            switch fault.status.code {
            case 408: .requestTimeout
            case 413: .bodyTooLarge
            case 414: .uriTooLong
            case 417: .expectationFailed
            case 431: .headersTooLarge
            case 501: .notImplemented
            case 503: .busy
            case 505: .httpVersionNotSupported
            default: .malformedRequest
            }
        guard fault.status == .serviceUnavailable else {
            self.init(fault.status, code, "The request cannot be read: \(fault.reason).")
            return
        }
        self.init(fault.status, code, "The server cannot answer now: \(fault.reason).")
        retryAfterSeconds = 1
    }

    private init(_ fault: AuthenticationFault) {
        if fault == .keysUnavailable {
            self.init(.serviceUnavailable, .keysUnavailable, "Tokens cannot be checked now: \(fault.publicReason).")
            retryAfterSeconds = 2
        } else {
            self.init(.unauthorized, .unauthorized, "The request needs a valid bearer token: \(fault.publicReason).")
            headers = [("www-authenticate", fault.challenge)]
        }
        logged = fault.publicReason
    }

    private init(_ refusal: AccessRefusal) {
        switch refusal {
        case .tooManyRequests(let wait):
            self = .rateLimited("This user has made too many requests.", retryAfter: wait)
        case .tooManyWithoutToken(let wait):
            self = .rateLimited(
                "Too many requests without a valid token have come from this address.", retryAfter: wait)
        case .tooManyWrongTokens(let wait):
            self = .rateLimited("Too many wrong tokens have come from this address.", retryAfter: wait)
        case .tooManyRedirects(let wait): self = .rateLimited("Too many redirects have come.", retryAfter: wait)
        case .tooManyOfUserUnderWay:
            self = .rateLimited("This user has too many requests under way.", retryAfter: .seconds(1))
        case .busy: self = .busy("The server has as much to do as it can.", retryAfter: .seconds(1))
        case .tooManyLongPolls(let wait):
            self = .busy("Too many requests wait for changes. Ask without waiting.", retryAfter: wait)
        }
    }

    /// The client has asked too often (RFC 6585 §4).
    private static func rateLimited(_ detail: String, retryAfter wait: Duration) -> APIError {
        var error = APIError(.tooManyRequests, .rateLimited, detail)
        error.retryAfterSeconds = wait.secondsRoundedUp
        return error
    }

    private static func busy(_ detail: String, retryAfter wait: Duration) -> APIError {
        var error = APIError(.serviceUnavailable, .busy, detail)
        error.retryAfterSeconds = wait.secondsRoundedUp
        return error
    }

    private init(_ refusal: WorkflowRefusal) {
        switch refusal {
        case .notFound: self = .notFound
        case .customerRequired:
            self.init(.conflict, .customerRequired, "Create the user's customer first: PUT /v1/customer.")
        case .identifierDiffers:
            self.init(.conflict, .identifierDiffers, "The user is a customer with another CPF or CNPJ.")
        case .identifierInUse:
            self.init(
                .conflict, .identifierInUse,
                "Another account has this CPF or CNPJ at Belvo already. Use that account, or ask the shop for help.")
        case .accountTenureDiffers(let expected):
            self = .invalid(
                "/risk_signals/accountTenure", "differs", "The account tenure of this customer is \(expected).")
        case .institutionUnavailable:
            self.init(
                .unprocessableContent, .institutionUnavailable, "This institution does not offer Biometric Pix now.")
        case .paymentFailed(let failure):
            let reason = failure?.message ?? failure?.code ?? "no reason was given"
            self.init(.unprocessableContent, .paymentFailed, "The payment has failed: \(reason)")
        case .redirectUnknown:
            self.init(.unprocessableContent, .redirectUnknown, "No enrollment waits for this redirect.")
        case .unknownRedirectsFull:
            self.init(
                .serviceUnavailable, .busy, "Too many redirects wait that belong to no enrollment known here.")
            retryAfterSeconds = 10
        case .tooManyRedirectsOfEnrollment:
            self = .rateLimited("Too many redirects have come for this enrollment.", retryAfter: .seconds(60))
        case .tooManyOpenEnrollments(let wait):
            self.init(
                .tooManyRequests, .tooManyOpenEnrollments,
                "This user has too many enrollments that are not at their end.")
            retryAfterSeconds = wait.secondsRoundedUp
        case .tooManyOpenPayments:
            self.init(
                .tooManyRequests, .tooManyOpenPayments, "This user has too many payments that are not at their end.")
            retryAfterSeconds = 60
        case .tooManyEnrollments(let wait):
            self.init(
                .tooManyRequests, .tooManyEnrollments, "This user has begun too many enrollments within a day.")
            retryAfterSeconds = max(1, Int(wait.components.seconds) + 1)
        case .tooManyCustomerCreations(let wait):
            self.init(.tooManyRequests, .rateLimited, "This user's data was refused too often within a day.")
            retryAfterSeconds = wait.secondsRoundedUp
        case .tooManyPayments(let wait):
            self.init(.tooManyRequests, .tooManyPayments, "This user has opened too many payments within a day.")
            retryAfterSeconds = max(1, Int(wait.components.seconds) + 1)
        case .tooManyUnsentPayments(let wait):
            self = .rateLimited("Too many of this user's payments did not get to Belvo.", retryAfter: wait)
        case .enrollmentFailed:
            self.init(.conflict, .enrollmentFailed, "The enrollment has failed; start a new one.")
        case .confirmationRefused(let failure, let requestID):
            let reason = failure?.message ?? failure?.code ?? "no reason was given"
            self.init(
                .unprocessableContent, .confirmationRefused,
                "Belvo refused the registration, and its challenge is used up: \(reason)")
            belvoRequestID = requestID
            nextAction = .retry(.afterRefusedConfirmation(failureCode: failure?.code))
        case .wrongState(let state):
            self.init(.conflict, .wrongState, "This cannot be done in the present state (\(state)).")
        case .alreadyDone:
            self.init(.conflict, .alreadyDone, "This was done before, with something else.")
        case .enrollmentUnknown:
            self = .invalid("/enrollment", "not_found", "There is no such enrollment.")
        case .enrollmentNotUsable:
            self.init(.conflict, .enrollmentNotUsable, "Only an enrollment that has SUCCEEDED can pay.")
        case .referenceBusy(let payment):
            self.init(
                .conflict, .paymentInDoubt, "An earlier payment for this reference is not known to have failed.")
            paymentIntent = payment
        case .alreadyPaid(let payment):
            self.init(.conflict, .alreadyPaid, "This reference has been paid.")
            paymentIntent = payment
        case .orderRequired:
            self.init(.conflict, .orderRequired, "The merchant takes payments for its orders only.")
        case .orderInUse(let payment):
            self.init(.conflict, .orderInUse, "A payment for this order is live, in doubt, or has paid it.")
            paymentIntent = payment
        case .orderExpired:
            self.init(.conflict, .orderExpired, "The time for paying this order is over.")
        case .orderUnknown:
            self = .invalid("/reference", "not_found", "There is no such order.")
        case .termsMissing(let members):
            self = .invalid(
                members.map { JSONFault(pointer: "/\($0)", code: "required", message: "This is required.") })
        case .differsFromOrder(let members):
            self = .invalid(
                members.map {
                    JSONFault(pointer: "/\($0)", code: "differs", message: "This is not what the order says.")
                })
            if members.contains("amount") {
                problem = .amountDiffers
                detail = "The amount is not the order's; leave it out, or name the same."
            }
        case .amountTooHigh(let max):
            self = .invalid("/amount", "too_high", "A payment without redirection is at most \(max) BRL.")
        case .idempotencyKeyReused:
            self.init(
                .unprocessableContent, .idempotencyKeyReused, "This Idempotency-Key was used for another request.")
        case .inProgress:
            self.init(.conflict, .inProgress, "The first request is still being worked on.")
            retryAfterSeconds = 1
        case .clientDataInvalid(let fault):
            self = .invalid("\(fault.member)/response/clientDataJSON", fault.fault.code, fault.fault.message)
        case .contended:
            self.init(.serviceUnavailable, .busy, "Many requests changed this at once.")
            retryAfterSeconds = 1
        }
    }

    private init(_ mistake: InternalError) {
        self.init(.badGateway, .belvoMisused, "Belvo does not take this server's requests. The operators know.")
        belvoRequestID = mistake.refusal.requestID
        isAlarm = true
        logged = "\(mistake)"
    }

    private init(_ error: BelvoError) {
        switch error {
        // A path, a method or a media type of ours that Belvo does not know: nothing that an app could mend.
        case .refused(let refusal) where refusal.kind != .content: self.init(InternalError(refusal: refusal))
        case .refused(let refusal):
            let words = refusal.items.compactMap { item in
                item.message.map { message in item.field.map { "\($0): \(message)" } ?? message }
            }
            self.init(
                .unprocessableContent, .refusedByBelvo,
                words.isEmpty
                    ? "Belvo refused the request." : "Belvo refused the request: \(words.joined(separator: " "))")
            belvoRequestID = refusal.requestID
        case .denied(let refusal):
            self.init(.badGateway, .belvoDenied, "Belvo did not let the server in. The operators know.")
            belvoRequestID = refusal.requestID
            isAlarm = true
        case .notFound(let refusal):
            self.init(.badGateway, .belvoLostObject, "Belvo does not know this object.")
            belvoRequestID = refusal.requestID
            isAlarm = true
        case .conflict(let refusal):
            self.init(.conflict, .wrongState, "Belvo says that this cannot be done now.")
            belvoRequestID = refusal.requestID
        case .throttled(let refusal):
            self.init(.serviceUnavailable, .belvoUnavailable, "Belvo has had enough requests for now.")
            belvoRequestID = refusal.requestID
            // Where Belvo does not say how long: no shorter than the gate's silence (`ThrottleBackoff`).
            retryAfterSeconds = refusal.retryAfter.map { Int($0.components.seconds) } ?? 3
        case .unreachable(_, let wait):
            self.init(.serviceUnavailable, .belvoUnavailable, "Belvo cannot be reached. Nothing was done.")
            // Rounded up: a client that comes a moment too early is only refused once more.
            retryAfterSeconds = wait.map { Int($0.components.seconds) + 1 } ?? 2
        case .unanswered(.late):
            self.init(.gatewayTimeout, .belvoTimeout, "Belvo did not answer in time.")
        case .unanswered(let doubt), .outcomeUnknown(let doubt):
            self.init(.serviceUnavailable, .belvoUnavailable, "Belvo gave no answer.")
            belvoRequestID = doubt.requestID
            retryAfterSeconds = 2
        case .malformedAnswer:
            self.init(.badGateway, .belvoMalformedAnswer, "Belvo's answer cannot be used. The operators know.")
            isAlarm = true
        }
        logged = "\(error)"
    }

    private init(_ failure: StoreFailure) {
        switch failure {
        case .unavailable:
            self.init(.serviceUnavailable, .databaseUnavailable, "The server cannot store or read anything now.")
            retryAfterSeconds = 2
        case .broken:
            self.init(.internalServerError, .internalError, "Something went wrong here. It has been noted.")
            isAlarm = true
        }
        logged = failure.description
    }
}

extension Duration {
    /// A second too many is waited rather than a nanosecond too few.
    fileprivate var secondsRoundedUp: Int {
        let second = Duration.seconds(1).wholeNanoseconds
        return Int((wholeNanoseconds + second - 1) / second)
    }
}

extension UnknownOutcome {
    fileprivate var requestID: String? {
        if case .failed(let refusal) = self { refusal.requestID } else { nil }
    }
}

extension APIError {
    /// The problem document (RFC 9457).
    package func response(requestID: String) -> Response {
        let body = JSONWriter.object { problem in
            problem.member("type", "urn:merchant:problem:\(code)")
            problem.member("title", status.reason)
            problem.member("status", status.code)
            problem.member("detail", detail)
            problem.member("code", code)
            problem.member("request_id", requestID)
            if let belvoRequestID { problem.member("belvo_request_id", belvoRequestID) }
            if let paymentIntent { problem.member("payment_intent", paymentIntent.description) }
            nextAction?.write(to: &problem)
            if !faults.isEmpty {
                problem.memberArray("errors") { errors in
                    for fault in faults {
                        errors.object {
                            $0.member("field", fault.pointer)
                            $0.member("code", fault.code)
                            $0.member("message", fault.message)
                        }
                    }
                }
            }
        }
        var response = Response(status, headers: Self.documentHeaders, body: body)
        for header in headers { response.headers.append(header.name, header.value) }
        if let retryAfterSeconds { response.headers.append("retry-after", "\(retryAfterSeconds)") }
        return response
    }

    private static let documentHeaders: Headers = [
        "content-type": "application/problem+json", "cache-control": "no-store", "x-content-type-options": "nosniff",
    ]
}

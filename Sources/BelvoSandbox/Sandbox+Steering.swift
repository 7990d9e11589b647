import HTTP
import JSON

/// How a test in the same process moves the sandbox. Every method takes effect before it returns.
extension Sandbox {
    /// The id of the account that receives the money.
    public var beneficiary: String { configuration.beneficiary }

    /// The present readings.
    public var variants: Variants {
        get { withState { $0.variants } }
        set { change { $0.variants = newValue } }
    }

    /// Switches a fault on for the next calls of an endpoint (nil: of any), oldest fault first.
    ///
    /// - Parameter count: calls that it hits; nil for all to come.
    /// - Parameter skip: calls that pass before it.
    public func next(_ fault: Fault, on endpoint: Endpoint?, count: Int? = 1, afterLetting skip: Int = 0) {
        change { $0.faults.add(FaultPlan.Entry(fault: fault, endpoint: endpoint, remaining: count, skip: skip)) }
    }

    /// Switches every fault off.
    public func clearFaults() {
        change { $0.faults.clear() }
    }

    /// Lets the person at the bank decide, without a browser.
    public func decide(enrollment id: String, _ decision: BankDecision) throws(SteeringFault) -> BankReply {
        let reply = change { state -> BankReply? in
            guard let parameters = state.answerConsent(id, decision), let enrollment = state.enrollments[id] else {
                return nil
            }
            return BankReply(
                callbackURL: state.callbackAddress(enrollment, parameters), parameters: parameters)
        }
        guard let reply else { throw steeringFault(isKnown: withState { $0.enrollments[id] != nil }) }
        return reply
    }

    /// Makes the FIDO registration options of a redirected enrollment available.
    public func makeReady(enrollment id: String) throws(SteeringFault) {
        try steer(enrollment: id) { state in
            guard state.enrollments[id]?.redirection.completedAt != nil else { return false }
            state.enrollments.change(id) { $0.registration.isReady = true }
            return true
        }
    }

    /// The bank accepts a confirmed enrollment.
    public func settle(enrollment id: String) throws(SteeringFault) {
        try steer(enrollment: id) { $0.succeedEnrollment(id) }
    }

    /// A pending enrollment ends without success.
    public func fail(
        enrollment id: String, code: String = "BIOMETRIC_REGISTRATION_FAILED", message: String = "Failed."
    ) throws(SteeringFault) {
        try steer(enrollment: id) { $0.failEnrollment(id, Enrollment.Reason(code: code, message: message)) }
    }

    /// The user gives a pending enrollment up.
    public func cancel(enrollment id: String) throws(SteeringFault) {
        try steer(enrollment: id) { $0.cancelEnrollment(id) }
    }

    /// The bank takes a usable enrollment back: FAILED, or CANCELED (belvo-api.md §5).
    public func revoke(enrollment id: String, asCanceled: Bool = false) throws(SteeringFault) {
        try steer(enrollment: id) { $0.revokeEnrollment(id, as: asCanceled ? .canceled : .failed) }
    }

    /// The money arrives, whether or not the payment was authorized here.
    public func settle(intent id: String) throws(SteeringFault) {
        try steer(intent: id) { $0.succeedIntent(id) }
    }

    /// The money does not move, for a reason of belvo-api.md §6.5.
    public func fail(
        intent id: String, code: String = "insufficient_funds", message: String = "The payer has not enough funds."
    ) throws(SteeringFault) {
        try steer(intent: id) { $0.failIntent(id, Failure(code: code, message: message)) }
    }

    /// The payment is called off.
    public func cancel(intent id: String) throws(SteeringFault) {
        try steer(intent: id) { $0.cancelIntent(id) }
    }

    /// A state on the way: PROCESSING, SCHEDULED, REQUIRES_ACTION or PENDING.
    public func turn(intent id: String, to status: String) throws(SteeringFault) {
        guard let status = PaymentIntent.Status(rawValue: status) else { throw .wrongState }
        try steer(intent: id) { $0.turnIntent(id, to: status) }
    }

    /// Puts the sandbox's clock forward; what becomes due happens.
    public func advance(by span: Duration) {
        change { $0.clockOffset += span }
    }

    /// Sends the webhooks that were held, in the opposite order if asked.
    public func releaseWebhooks(reversed: Bool = false) {
        change { state in
            if reversed { state.outbox.reverse() }
            state.variants.webhookFlow = .running
        }
    }

    /// Sends a body of the caller's as a webhook, that many times at once: forged or repeated ones.
    public func sendWebhook(body: [UInt8], copies: Int = 1) {
        change { $0.enqueue("FORGED", "FORGED", "", body, copies: max(1, copies)) }
    }

    /// Forgets every object, fault and call, and takes the readings it began with.
    public func reset() {
        change { $0 = SandboxState(configuration) }
    }

    /// Changes the state, lets become what is due, and wakes the task that sends webhooks.
    @discardableResult
    func change<Result: Sendable>(_ body: (inout SandboxState) -> Result) -> Result {
        defer { wakeUp.signal() }
        return withState { state in
            state.catchUp()
            let result = body(&state)
            state.catchUp()
            return result
        }
    }

    private func steer(enrollment id: String, _ body: (inout SandboxState) -> Bool) throws(SteeringFault) {
        guard change(body) else { throw steeringFault(isKnown: withState { $0.enrollments[id] != nil }) }
    }

    private func steer(intent id: String, _ body: (inout SandboxState) -> Bool) throws(SteeringFault) {
        guard change(body) else { throw steeringFault(isKnown: withState { $0.intents[id] != nil }) }
    }

    private func steeringFault(isKnown: Bool) -> SteeringFault { isKnown ? .wrongState : .unknownObject }
}

/// Why the sandbox could not be moved as asked.
public enum SteeringFault: Error, Sendable, Equatable {
    case unknownObject
    /// The object's state does not allow it, or a name means no state.
    case wrongState
}

/// The bank's redirect to the `callback_url`.
public struct BankReply: Sendable {
    /// The address with the parameters in its query or fragment, as the variants say.
    public let callbackURL: String
    /// In their order.
    public let parameters: [(name: String, value: String)]

    /// The value of one parameter.
    public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The parameters as the body that completes the redirection.
    public var body: [UInt8] {
        JSONWriter.object { object in
            for (name, value) in parameters { object.member(name, value) }
        }
    }
}

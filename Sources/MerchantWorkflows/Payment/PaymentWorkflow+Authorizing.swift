import Belvo
import BelvoGate
import Logging
import MerchantModel
import MerchantStore
import Payments

// Giving a payment up, and authorizing it: one of the two, the first one.
extension PaymentWorkflow {
    /// Gives a payment up that was never sent to be authorized. While it is unknown whether Belvo has it, the request
    /// is remembered.
    ///
    /// Belvo has no such call: a payment that is never authorized lapses there by itself, and what Belvo says of it
    /// later still counts. So Belvo is read first: what was signed elsewhere is not given up, and what was seen to be
    /// unsigned frees its reference at once.
    package func cancel(
        _ id: Payment.ID, of subject: UserSubject, on context: CallContext
    ) async throws -> Progress<Stored<Payment>> {
        var isFreshlyRead = false
        for _ in 0..<attemptsMax {
            let stored = try await payment(id, of: subject)
            let payment = stored.record
            if payment.wasAuthorizeSent { throw WorkflowRefusal.wrongState("authorizing") }
            if payment.state == .failed { return .done(stored) }
            // It was authorized at Belvo from elsewhere, and money may be moving.
            if payment.wasSeenSigned { throw WorkflowRefusal.wrongState((payment.providerStatus ?? "").lowercased()) }
            if payment.belvoID != nil, payment.status == .pending, !isFreshlyRead,
                case .event(let found) = await readOnce(payment)
            {
                isFreshlyRead = payment.isShown(by: found)
                let next = try payment.transition(on: found)
                if next != payment {
                    try await recordEvent(found, on: stored, cause: context.cause)
                    continue
                }
            }
            let event = Payment.Event.cancelRequested(isFreshlyRead: isFreshlyRead)
            guard let next = try? payment.transition(on: event) else {
                throw WorkflowRefusal.wrongState(payment.state.rawValue)
            }
            // The same request again changes nothing.
            if next == payment { return .pending(stored) }
            guard let written = try await write(next, over: stored, event: event.name, cause: context.cause) else {
                continue
            }
            return written.record.state == .failed ? .done(written) : .pending(written)
        }
        throw WorkflowRefusal.contended
    }

    /// Passes on the user's signature: the one call that moves money, made once.
    ///
    /// `clientData` is the part of the assertion that says what was signed.
    package func authorize(
        _ id: Payment.ID, of subject: UserSubject, with assertion: RawJSON, riskSignals: RawJSON, digest: [UInt8],
        clientData: String, on context: CallContext
    ) async throws -> Progress<Stored<Payment>> {
        let stored = try await payment(id, of: subject)
        if let known = stored.record.assertionDigest {
            guard known == digest else { throw WorkflowRefusal.alreadyDone }
            return try progress(of: stored)
        }
        guard stored.record.state == .awaitingSignature, !stored.record.isCancelRequested, !stored.isOverdue,
            !stored.record.wasSeenSigned, let options = stored.record.fidoOptions, let belvoID = stored.record.belvoID
        else { throw WorkflowRefusal.wrongState(stored.record.state.rawValue) }
        do {
            try ClientData.check(clientData, ceremony: .get, challenge: challenge(in: options) ?? "")
        } catch {
            throw WorkflowRefusal.clientDataInvalid(SignedPart(member: "/assertion", fault: error))
        }
        guard let enrollmentID = stored.record.enrollment,
            let enrollment = try await dependencies.store.enrollment(enrollmentID, of: subject)
        else { throw WorkflowRefusal.notFound }
        // Only one of several at once gets past this: the others find another version.
        let next = try stored.record.transition(on: .authorizationSent(digest: digest))
        let event = Payment.Event.authorizationSent(digest: digest)
        let sent: Stored<Payment>
        do {
            guard let written = try await write(next, over: stored, event: event.name, cause: context.cause) else {
                return try await authorize(
                    id, of: subject, with: assertion, riskSignals: riskSignals, digest: digest,
                    clientData: clientData, on: context)
            }
            sent = written
        } catch is ReferenceTaken {
            throw try await refusal(toAuthorize: stored.record)
        }
        do {
            try await CallOrigin.about(enrollment.record.institution.id) {
                try await dependencies.belvo.authorizePaymentIntent(
                    Belvo.PaymentIntent.ID(belvoID),
                    Belvo.Authorization(
                        riskSignals: riskSignals, assertion: assertion,
                        platform: enrollment.record.platform.map(Belvo.Platform.init)),
                    trace: context.trace)
            }
            return .done(try await recordEvent(.authorizationAccepted, on: sent, cause: context.cause))
        } catch let error as BelvoError {
            return try await recordFailedAuthorize(
                sent, after: error, sentBefore: stored.record.wasAuthorizeSent, on: context)
        }
    }

    /// The answer to a repeated signature: accepted, not known yet, or Belvo's refusal.
    private func progress(of stored: Stored<Payment>) throws -> Progress<Stored<Payment>> {
        if stored.record.isAuthorizationAccepted { return .done(stored) }
        switch stored.record.state {
        case .failed: throw WorkflowRefusal.paymentFailed(stored.record.failure)
        case .succeeded: return .done(stored)
        default: return .pending(stored)
        }
    }

    /// Why the payment cannot be authorized: which other one for its reference is in the way.
    private func refusal(toAuthorize payment: Payment) async throws -> WorkflowRefusal {
        var others = try await dependencies.store.payments(twinsOf: payment.id)
        if let reference = payment.reference {
            others += try await dependencies.store.payments(
                taking: reference, of: payment.subject, isPricedByOrder: payment.isPricedByOrder)
        }
        return others.first { $0.record.id != payment.id }.map { Self.refusal(by: $0.record, to: payment.subject) }
            ?? .contended
    }

    /// Records the outcome of a failed authorize. Unless it was not sent, the signature has left and money may move:
    /// only Belvo's status of the payment ends it.
    private func recordFailedAuthorize(
        _ sent: Stored<Payment>, after error: BelvoError, sentBefore: Bool, on context: CallContext
    ) async throws -> Progress<Stored<Payment>> {
        if error.wasNotSent {
            try await recordEvent(.authorizationKeptBack(sentBefore: sentBefore), on: sent, cause: context.cause)
            throw error
        }
        if error.saysNotLetIn {
            try await recordEvent(.authorizationNotLetIn, on: sent, cause: context.cause)
            throw error
        }
        dependencies.log.warning("payment.authorization_unknown", metadata: ["payment_id": "\(sent.record.id)"])
        guard case .event(let found) = await readOnce(sent.record) else {
            if error.refusal != nil { throw error }
            return .pending(sent)
        }
        let known = try await recordEvent(found, on: sent, cause: context.cause)
        // A refusal counts where Belvo shows nothing that speaks against it.
        if error.refusal != nil, known.record.status == .pending, !known.record.wasSeenSigned { throw error }
        return try progress(of: known)
    }
}

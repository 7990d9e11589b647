import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// Passing on what the phone made of the registration options.
extension EnrollmentWorkflow {
    /// The registration with which an app confirms an enrollment.
    package struct Confirmation: Sendable {
        /// Passed on as it came, and not kept.
        let data: RawJSON
        let digest: [UInt8]
        /// The part of it that says what was signed.
        let clientData: String

        package init(data: RawJSON, digest: [UInt8], clientData: String) {
            self.data = data
            self.digest = digest
            self.clientData = clientData
        }
    }

    /// Passes on a registration. It moves no money: while Belvo shows that it has not arrived it is sent again, at once
    /// and by the same request again (reliability.md, promise 3).
    package func confirm(
        _ id: Enrollment.ID, of subject: UserSubject, with confirmation: Confirmation, on context: CallContext
    ) async throws -> Progress<Stored<Enrollment>> {
        let stored = try await enrollment(id, of: subject)
        let end = stored.clock.now + dependencies.timeouts.askingDeadline
        if let known = stored.record.confirmationDigest {
            guard known == confirmation.digest else { throw WorkflowRefusal.alreadyDone }
            return try await resume(stored, with: confirmation, until: end, on: context)
        }
        guard stored.record.state == .awaitingFingerprint, let options = stored.record.registrationOptions,
            stored.record.belvoID != nil
        else {
            throw stored.record.state == .failed
                ? WorkflowRefusal.enrollmentFailed : .wrongState(stored.record.state.rawValue)
        }
        do {
            try ClientData.check(confirmation.clientData, ceremony: .create, challenge: challenge(in: options) ?? "")
        } catch {
            throw WorkflowRefusal.clientDataInvalid(SignedPart(member: "/confirmation_data", fault: error))
        }
        // Only one of several at once gets past this: the others find another version.
        let next = try stored.record.transition(on: .confirmationSent(digest: confirmation.digest))
        let written = try await write(
            next, over: stored, event: "confirmation_sent", isClaimed: true, cause: context.cause)
        guard let sent = written else { return try await confirm(id, of: subject, with: confirmation, on: context) }
        do {
            return .done(try await send(confirmation, for: sent, within: nil, on: context))
        } catch let error as BelvoError {
            if let end = try await recordFailedConfirm(sent, after: error, from: stored, on: context) { throw end }
            // It may have arrived. Only reading shows it: now, or by the poller.
            dependencies.log.warning(
                "enrollment.confirmation_unknown", metadata: ["enrollment_id": "\(sent.record.id)"])
            return try await goOn(sent, with: confirmation, isClaimed: true, until: end, on: context)
        }
    }

    /// The same registration again: what became of it, and where that is unknown, another sending.
    private func resume(
        _ stored: Stored<Enrollment>, with confirmation: Confirmation, until end: Timestamp, on context: CallContext
    ) async throws -> Progress<Stored<Enrollment>> {
        guard stored.record.state == .confirming, !stored.record.isConfirmationAccepted else {
            return try progress(of: stored)
        }
        return try await goOn(stored, with: confirmation, isClaimed: false, until: end, on: context)
    }

    /// Reads how the enrollment stands, and sends what has not arrived once more.
    private func goOn(
        _ stored: Stored<Enrollment>, with confirmation: Confirmation, isClaimed: Bool, until end: Timestamp,
        on context: CallContext
    ) async throws -> Progress<Stored<Enrollment>> {
        guard let belvoID = stored.record.belvoID, let remote = await reading(belvoID, of: stored.record) else {
            return isClaimed ? try await leaveUnknown(stored, on: context) : .pending(stored)
        }
        if remote.mayLackRegistration, stored.clock.now + dependencies.timeouts.readOnceDeadline < end {
            // The version that was read before this reading: of several requests only one sends.
            let claimed = try await dependencies.store.claimSending(
                stored, id: stored.record.id.uuid, in: .enrollments, isClaimed: isClaimed,
                firstPoll: dependencies.timeouts.askingDeadline + .seconds(5), deadline: nil)
            guard let claimed else {
                return try progress(of: try await dependencies.store.enrollment(stored.record.id) ?? stored)
            }
            // Else it would wait behind all others, as its user has just had a turn for the reading.
            return try await CallOrigin.continuing {
                try await sendAgain(confirmation, for: claimed, until: end, on: context)
            }
        }
        return try progress(
            of: try await recordEvent(.reported(report(remote, of: stored.record)), on: stored, cause: context.cause))
    }

    /// Sends the registration again. Belvo's answer to this sending says nothing about the first: a refusal is followed
    /// by a reading.
    private func sendAgain(
        _ confirmation: Confirmation, for claimed: Stored<Enrollment>, until end: Timestamp, on context: CallContext
    ) async throws -> Progress<Stored<Enrollment>> {
        do {
            let limit = end - claimed.clock.now - dependencies.timeouts.readOnceDeadline
            return .done(try await send(confirmation, for: claimed, within: limit, on: context))
        } catch let error as BelvoError {
            dependencies.log.warning(
                "enrollment.confirmed_again_in_vain",
                metadata: ["enrollment_id": "\(claimed.record.id)", "reason": "\(error)"])
        }
        guard let belvoID = claimed.record.belvoID, let remote = await reading(belvoID, of: claimed.record) else {
            return try await leaveUnknown(claimed, on: context)
        }
        return try progress(
            of: try await recordEvent(.reported(report(remote, of: claimed.record)), on: claimed, cause: context.cause))
    }

    private func send(
        _ confirmation: Confirmation, for sent: Stored<Enrollment>, within limit: Duration?, on context: CallContext
    ) async throws -> Stored<Enrollment> {
        guard let belvoID = sent.record.belvoID else { throw WorkflowRefusal.wrongState(sent.record.state.rawValue) }
        let belvo = limit.map { dependencies.belvo.within($0) } ?? dependencies.belvo
        try await CallOrigin.about(sent.record.institution.id) {
            try await belvo.confirmEnrollment(
                Belvo.Enrollment.ID(belvoID), confirmationData: confirmation.data, trace: context.trace)
        }
        return try await recordEvent(.confirmationAccepted, on: sent, cause: context.cause)
    }

    /// The answer to a repeated registration: accepted, not known yet, or Belvo's refusal.
    private func progress(of stored: Stored<Enrollment>) throws -> Progress<Stored<Enrollment>> {
        if stored.record.isConfirmationAccepted { return .done(stored) }
        switch stored.record.state {
        case .failed where stored.record.isConfirmationRefused:
            throw WorkflowRefusal.confirmationRefused(stored.record.failure, belvoRequestID: nil)
        case .failed: throw WorkflowRefusal.enrollmentFailed
        case .succeeded: return .done(stored)
        default: return .pending(stored)
        }
    }

    /// Records the outcome of a failed first sending, and returns the app's answer; nil where the outcome is unknown.
    /// `before` is the enrollment as it was when it was sent.
    private func recordFailedConfirm(
        _ sent: Stored<Enrollment>, after error: BelvoError, from before: Stored<Enrollment>, on context: CallContext
    ) async throws -> (any Error)? {
        if let refusal = error.refusal {
            let failure = Failure.refused(refusal)
            // One that was answered as not let in before may have arrived all the same: then this says that it has.
            if let belvoID = sent.record.belvoID, let remote = await reading(belvoID, of: sent.record),
                remote.hasRegistration
            {
                return nil
            }
            try await recordEvent(.refused(failure), on: sent, cause: context.cause)
            // A path or a method of ours that Belvo does not know is no judgement of what the phone made.
            guard refusal.kind == .content else { return error }
            return WorkflowRefusal.confirmationRefused(failure, belvoRequestID: refusal.requestID)
        }
        if error.saysNoEffect {
            // The user's deadline stays: trying again and again must not make it longer.
            try await recordEvent(.confirmationNotSent, on: sent, keeping: before.deadline, cause: context.cause)
            return error
        }
        return nil
    }

    /// From here on it is read as often as anything that waits for Belvo.
    private func leaveUnknown(
        _ stored: Stored<Enrollment>, on context: CallContext
    ) async throws -> Progress<Stored<Enrollment>> {
        try progress(of: try await recordEvent(.confirmationUnknown, on: stored, cause: context.cause))
    }

    /// The enrollment as Belvo has it now, within `readOnceDeadline`; nil when it cannot be read.
    func reading(_ belvoID: UUID, of enrollment: Enrollment) async -> Belvo.Enrollment? {
        do {
            return try await CallOrigin.goingOn {
                try await dependencies.belvo.within(dependencies.timeouts.readOnceDeadline)
                    .readEnrollment(Belvo.Enrollment.ID(belvoID))
            }
        } catch {
            dependencies.log.warning(
                "enrollment.unreadable", metadata: ["enrollment_id": "\(enrollment.id)", "reason": "\(error)"])
            return nil
        }
    }
}

extension Belvo.Enrollment {
    /// Whether nothing here speaks of a registration: the state before it (belvo-api.md §5, §9).
    fileprivate var mayLackRegistration: Bool {
        status == .pending && [.awaitingEnrollment, .awaitingAccountHolderValidation].contains(details.status)
    }

    /// Whether Belvo shows that it has taken a registration.
    fileprivate var hasRegistration: Bool {
        status == .succeeded || status == .pending && details.status == .authorized
    }

    /// Whether nothing here speaks of a bank's redirect: the state before it, and no payer.
    var lacksRedirect: Bool {
        status == .pending && details.payerInformation == nil
            && [.awaitingAccountHolderValidation, .awaitingRiskSignals].contains(details.status)
    }
}

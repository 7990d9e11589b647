import Belvo
import BelvoGate
import FoundationEssentials
import JSON
import Logging
import MerchantModel
import MerchantStore
import Payments
import Transport

/// How a bank's redirect reaches Belvo: stored before anything else, passed on once, through whichever way it came.
///
/// A `state` from a redirect address says whose it is. Where the bank hid it, Belvo's answer does.
package struct RedirectionWorkflow: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// The outcome of a redirect.
    package enum Result: Sendable {
        /// The enrollment as it is now.
        case settled(Stored<Enrollment>)
        /// Stored, and on its way; the enrollment, if it is known whose it is.
        case pending(Stored<Enrollment>?)
    }

    private var enrollments: EnrollmentWorkflow { EnrollmentWorkflow(dependencies: dependencies) }

    /// A redirect that arrived, and what is known of it before it is stored.
    package struct Arrival: Sendable {
        let redirection: Redirection
        /// The user whose app posted it; nil when it came through a browser.
        let poster: UserSubject?
        /// The address that it came from, where that is a browser's.
        let sender: IPAddress?
        /// The enrollment whose `state` it names; nil where that is not known.
        package let enrollment: Stored<Enrollment>?
        /// Whether the very same arrived before.
        package let isRepeat: Bool
        fileprivate let body: [UInt8]
        fileprivate let digest: [UInt8]
    }

    /// Finds out whose a redirect is. Throws when it is another user's than the one whose app posted it.
    package func arrival(
        of redirection: Redirection, from poster: UserSubject? = nil, at sender: IPAddress? = nil
    ) async throws -> Arrival {
        let owner = try await dependencies.store.enrollment(redirectState: redirection.state)
        if let owner, let poster, owner.record.subject != poster { throw WorkflowRefusal.notFound }
        let body = redirection.json
        let digest = dependencies.store.vault.lookup(body, for: .redirectReceipt)
        return Arrival(
            redirection: redirection, poster: poster, sender: sender, enrollment: owner,
            isRepeat: try await dependencies.store.hasReceipt(digest), body: body, digest: digest)
    }

    /// Takes a redirect from an app.
    package func receive(_ arrival: Arrival, on context: CallContext) async throws -> Result {
        let (receipt, isNew) = try await remember(arrival)
        return try await deal(with: arrival, receipt, isNew: isNew, on: context)
    }

    /// Stores a redirect, if it is new.
    func remember(_ arrival: Arrival) async throws -> (receipt: Stored<RedirectReceipt>, isNew: Bool) {
        let known = try await dependencies.store.insertReceipt(
            id: dependencies.identities.next(), digest: arrival.digest, redirectState: arrival.redirection.state,
            enrollment: arrival.enrollment?.record.id, postedBy: arrival.poster,
            sender: arrival.sender.map { "\($0.subscriber)" }, isError: arrival.redirection.isRejection,
            body: arrival.body, nextPoll: dependencies.timeouts.callDeadline + .seconds(5),
            bounds: RedirectBounds(
                unknownMax: arrival.poster == nil ? dependencies.policy.unknownRedirectsMax : Self.unknownOfUserMax))
        guard let known else {
            throw arrival.enrollment == nil
                ? WorkflowRefusal.unknownRedirectsFull : .tooManyRedirectsOfEnrollment
        }
        return known
    }

    /// Redirects of one user's that belong to no enrollment known here and may wait for Belvo at a time. Where the bank
    /// hides the `state` every one is such at first.
    private static let unknownOfUserMax = 10

    /// Passes on what was stored, unless that has been done, or it has to wait for its turn: while others are due that
    /// belong to no enrollment known here, workers take one of each sender after the other.
    func deal(
        with arrival: Arrival, _ receipt: Stored<RedirectReceipt>, isNew: Bool, on context: CallContext
    ) async throws -> Result {
        if isNew || receipt.record.outcome == .received {
            if receipt.record.enrollment == nil,
                try await dependencies.store.hasUnknownReceiptDue(besides: receipt.record.id)
            {
                let due = Reschedule(id: receipt.record.id, version: receipt.version, wait: .zero)
                if isNew { try await dependencies.store.reschedule([due], in: .unknownRedirects) }
                return .pending(nil)
            }
            return try await passOn(arrival.redirection, receipt, from: arrival.poster, on: context)
        }
        return try await repeated(receipt, by: arrival.poster)
    }

    /// Tries again to pass on what could not be sent, or settles what was sent and never answered.
    func process(_ receipt: Stored<RedirectReceipt>) async throws -> PollOutcome {
        if receipt.record.enrollment == nil, dependencies.gate.isShutForStrangers, receipt.record.outcome == .received,
            age(of: receipt) < dependencies.timeouts.userDeadline
        {
            // Nothing is marked as sent that would be kept at the gate.
            return .unchanged(nextPoll: pause(of: receipt))
        }
        try await passOnAgain(receipt)
        return .recorded
    }

    private func passOnAgain(_ receipt: Stored<RedirectReceipt>) async throws {
        let isOver = age(of: receipt) >= dependencies.timeouts.userDeadline
        if receipt.record.outcome == .sent {
            let owner = try await owner(of: receipt)
            let isReadable = owner == nil || owner?.record.belvoID != nil
            guard isReadable, receipt.record.body != nil, !isOver else {
                // It cannot be read whether it has arrived, or it is too late to send it again.
                _ = try await settle(receipt, as: .unknown, owner, .redirectPassedOn, cause: .poller)
                if owner == nil { try await hasten(receipt.record.postedBy) }
                return
            }
            if let owner {
                let remote = await reading(owner)
                guard let remote, remote.lacksRedirect else {
                    _ = try await settleSent(receipt, of: owner, remote, after: nil, on: .poller)
                    return
                }
            }
        }
        guard let body = receipt.record.body, !isOver else {
            _ = try await dependencies.store.update(receipt, to: .expired)
            return
        }
        do {
            _ = try await passOn(try Redirection(json: body), receipt, from: receipt.record.postedBy, on: .poller)
        } catch let error as BelvoError {
            dependencies.log.warning(
                "redirect.not_taken", metadata: ["receipt_id": "\(receipt.record.id)", "reason": "\(error)"])
        } catch WorkflowRefusal.notFound, WorkflowRefusal.redirectUnknown {
            // Posted by another user than the enrollment's owner, whose enrollment continues; or by no known user.
        }
    }

    /// A redirect that came before: the answer is what became of it.
    private func repeated(_ receipt: Stored<RedirectReceipt>, by poster: UserSubject?) async throws -> Result {
        guard let enrollment = try await owner(of: receipt) else {
            // Settled without having found whose it is: nothing more will become of it.
            switch receipt.record.outcome {
            case .refused, .expired: throw WorkflowRefusal.redirectUnknown
            case .received, .sent, .taken, .unknown: return .pending(nil)
            }
        }
        if let poster, enrollment.record.subject != poster { throw WorkflowRefusal.notFound }
        return receipt.record.outcome == .sent || receipt.record.outcome == .unknown
            ? .pending(enrollment) : .settled(enrollment)
    }

    private func passOn(
        _ redirection: Redirection, _ receipt: Stored<RedirectReceipt>, from poster: UserSubject?,
        on context: CallContext
    ) async throws -> Result {
        let owner = try await owner(of: receipt)
        if let owner {
            switch owner.record.state {
            case .creating, .atBank, .awaitingOptions: break
            case .failed where owner.record.failure == .timedOut: break
            case .completing:
                // Another redirect of the same enrollment is on its way. This one waits for its outcome.
                guard try await dependencies.store.hasReceiptInFlight(of: owner.record.id, besides: receipt.record.id)
                else {
                    break
                }
                _ = try await dependencies.store.update(
                    receipt, to: .received, nextPoll: dependencies.timeouts.pollInterval)
                return .pending(owner)
            default:
                _ = try await dependencies.store.update(receipt, to: .expired)
                return .settled(owner)
            }
        }
        return try await send(redirection, receipt, of: owner, from: poster, on: context)
    }

    /// The writer that marks it sends it: of two at once only one finds these versions.
    ///
    /// It moves no money: where the answer says nothing, and Belvo shows that it has not arrived, it is sent once more,
    /// and later on by the worker (reliability.md, promise 3). Of one whose enrollment is not known nothing can be
    /// read: it is sent again until Belvo takes or refuses it. What is refused may have been taken all the same, by a
    /// Belvo behind something that answers for it: only a reading tells.
    private func send(
        _ redirection: Redirection, _ receipt: Stored<RedirectReceipt>, of owner: Stored<Enrollment>?,
        from poster: UserSubject?, isSecond: Bool = false, on context: CallContext
    ) async throws -> Result {
        let wasSent = receipt.record.outcome == .sent
        let marked = try await settle(
            receipt, as: .sent, owner, .redirectReceived, cause: context.cause,
            nextPoll: dependencies.timeouts.askingDeadline + .seconds(5), isClaimed: true)
        guard let (sent, enrollment) = marked else { return .pending(owner) }
        do {
            let answer = try await CallOrigin.$current.withValue(origin(of: owner)) {
                let belvo =
                    isSecond ? dependencies.belvo.within(dependencies.timeouts.resendDeadline) : dependencies.belvo
                guard isSecond, owner != nil else {
                    return try await belvo.completeRedirection(redirection, trace: context.trace)
                }
                // Else it would wait behind all others, as its user has just had a turn for the reading.
                return try await CallOrigin.continuing {
                    try await belvo.completeRedirection(redirection, trace: context.trace)
                }
            }
            return try await record(
                answer, to: sent, enrollment, ofRejection: redirection.isRejection, poster: poster, on: context)
        } catch let error as BelvoError {
            // What Belvo says of a second sending says nothing about the first.
            if enrollment == nil, !wasSent, error.mayHaveTakenEffect {
                return try await send(redirection, sent, of: nil, from: poster, isSecond: true, on: context)
            }
            guard wasSent || error.mayHaveTakenEffect || error.refusal != nil, let enrollment,
                enrollment.record.belvoID != nil
            else {
                return try await record(error, to: sent, enrollment, isSecond: wasSent, poster: poster, on: context)
            }
            let remote = await reading(enrollment)
            if !wasSent, error.refusal != nil, remote?.lacksRedirect != false {
                return try await record(error, to: sent, enrollment, isSecond: false, poster: poster, on: context)
            }
            dependencies.log.warning(
                "redirect.outcome_unknown", metadata: ["receipt_id": "\(sent.record.id)", "reason": "\(error)"])
            if !wasSent, let remote, remote.lacksRedirect {
                return try await send(
                    redirection, sent, of: enrollment, from: poster, isSecond: true, on: context)
            }
            return try await settleSent(sent, of: enrollment, remote, after: error, on: context)
        }
    }

    /// Records what a reading says of a redirect that was sent. While it says that it has not arrived, or nothing, the
    /// redirect is kept, to be sent again; unless that was refused.
    private func settleSent(
        _ sent: Stored<RedirectReceipt>, of enrollment: Stored<Enrollment>, _ remote: Belvo.Enrollment?,
        after error: BelvoError?, on context: CallContext
    ) async throws -> Result {
        guard let remote, !remote.lacksRedirect || error?.refusal != nil else {
            _ = try await dependencies.store.update(sent, to: .sent, nextPoll: pause(of: sent))
            return .pending(enrollment)
        }
        // It is not known whose code has arrived: this receipt proves nothing (`CallbackResult.isProven`).
        let settled = try await settle(sent, as: .unknown, enrollment, .redirectPassedOn, cause: context.cause)
        guard let owner = settled?.enrollment else { return .pending(enrollment) }
        let event = Enrollment.Event.reported(enrollments.report(remote, of: owner.record))
        // Nothing new is not written: that would put off the next poll.
        let isNew = try owner.record.transition(on: event) != owner.record
        let now = isNew ? try await enrollments.recordEvent(event, on: owner, cause: context.cause) : owner
        return remote.lacksRedirect ? .pending(now) : .settled(now)
    }

    /// The owner's enrollment as Belvo has it now; nil when that cannot be read: workers find it out.
    private func reading(_ owner: Stored<Enrollment>, _ id: UUID? = nil) async -> Belvo.Enrollment? {
        guard let id = id ?? owner.record.belvoID else { return nil }
        return await CallOrigin.$current.withValue(origin(of: owner)) {
            await enrollments.reading(id, of: owner.record)
        }
    }

    /// On whose behalf Belvo is called: the enrollment's user, or a stranger where it is not known whose it is.
    private func origin(of owner: Stored<Enrollment>?) -> CallOrigin? {
        guard let owner else { return (CallOrigin.current ?? .strangersWorker).asStranger }
        return .user(owner.record.subject).about(owner.record.institution.id)
    }

    /// Belvo took it and says whose it is.
    ///
    /// How the enrollment stands after an error of the bank's is read from Belvo once more: any client that has found a
    /// `state` can bring an error, and an enrollment ends by Belvo's state and not by the answer to that.
    private func record(
        _ answer: Belvo.Enrollment, to receipt: Stored<RedirectReceipt>, _ expected: Stored<Enrollment>?,
        ofRejection isRejection: Bool, poster: UserSubject?, on context: CallContext
    ) async throws -> Result {
        if let expected, let known = expected.record.belvoID, known != answer.id.uuid {
            // A mix-up, Belvo's or a client's: nothing is concluded from it but that it was sent.
            dependencies.log.error(
                "redirect.answered_for_another",
                metadata: ["receipt_id": "\(receipt.record.id)", "belvo_id": "\(answer.id)"])
            let settled = try await settle(receipt, as: .unknown, expected, .redirectPassedOn, cause: context.cause)
            return .pending(settled?.enrollment ?? expected)
        }
        var found = expected
        if found == nil { found = try await dependencies.store.enrollment(belvoID: answer.id.uuid) }
        guard var owner = found else {
            _ = try await dependencies.store.update(receipt, to: .taken)
            return .pending(nil)
        }
        if expected == nil {
            owner = try await enrollments.recordEvent(.redirectReceived, on: owner, cause: context.cause)
        }
        if let settled = try await settle(receipt, as: .taken, owner, .redirectPassedOn, cause: context.cause) {
            owner = settled.enrollment ?? owner
        }
        if let remote = isRejection ? await reading(owner, answer.id.uuid) : answer {
            owner = try await enrollments.recordEvent(
                .reported(enrollments.report(remote, of: owner.record)), on: owner, cause: context.cause)
        }
        // The owner's enrollment continues; a user who posted another user's code learns nothing.
        if let poster, owner.record.subject != poster { throw WorkflowRefusal.notFound }
        return .settled(owner)
    }

    /// Belvo did not take it, or the outcome is unknown.
    private func record(
        _ error: BelvoError, to receipt: Stored<RedirectReceipt>, _ enrollment: Stored<Enrollment>?,
        isSecond: Bool, poster: UserSubject?, on context: CallContext
    ) async throws -> Result {
        if isSecond, enrollment == nil, error.refusal == nil {
            _ = try await dependencies.store.update(receipt, to: .sent, nextPoll: pause(of: receipt))
            return .pending(nil)
        }
        // A refusal of what was sent before says nothing about the first time: that may have been taken.
        if error.refusal != nil, !(isSecond && enrollment == nil) {
            // A bad code does not use up the enrollment: a good one may still come.
            _ = try await settle(receipt, as: .refused, enrollment, .redirectNotTaken, cause: context.cause)
            if enrollment == nil { try await hasten(poster) }
            throw error.refusal?.kind == .notFound ? WorkflowRefusal.redirectUnknown : error
        }
        if error.saysNoEffect {
            // Kept, and tried again by itself with growing pauses: the user has long left the bank.
            _ = try await dependencies.store.update(receipt, to: .received, nextPoll: pause(of: receipt))
            throw error
        }
        let settled = try await settle(receipt, as: .unknown, enrollment, .redirectPassedOn, cause: context.cause)
        if enrollment == nil { try await hasten(poster) }
        return .pending(settled?.enrollment ?? enrollment)
    }

    /// Writes the receipt's outcome and what it does to the enrollment, together or not at all. Nothing comes back
    /// when another worker has the receipt.
    private func settle(
        _ receipt: Stored<RedirectReceipt>, as outcome: RedirectReceipt.Outcome, _ enrollment: Stored<Enrollment>?,
        _ event: Enrollment.Event, cause: Cause, nextPoll: Duration? = nil, isClaimed: Bool = false
    ) async throws -> (receipt: Stored<RedirectReceipt>, enrollment: Stored<Enrollment>?)? {
        guard var current = enrollment else {
            return try await dependencies.store.update(receipt, to: outcome, nextPoll: nextPoll, isClaimed: isClaimed)
                .map { ($0, nil) }
        }
        for _ in 0..<attemptsMax {
            guard let next = try? current.record.transition(on: event) else {
                // The enrollment has gone further already; the receipt is settled alone.
                let settled = try await dependencies.store.update(
                    receipt, to: outcome, nextPoll: nextPoll, isClaimed: isClaimed)
                return settled.map { ($0, current) }
            }
            let written = try await dependencies.store.update(
                current, to: next, event: event.name, plan: enrollments.plan(next, over: current), cause: cause,
                at: current.clock.now, with: receipt, settledAs: outcome, nextPoll: nextPoll, isClaimed: isClaimed)
            if let (changed, settled) = written {
                enrollments.publish(changed, after: current, cause: cause)
                return (settled, changed)
            }
            guard let fresh = try await dependencies.store.enrollment(current.record.id) else { return nil }
            // The same version again means that another worker has the receipt.
            if fresh.version == current.version { return nil }
            current = fresh
        }
        throw WorkflowRefusal.contended
    }

    /// Every second at first, since a user waits for it, and then ever less often.
    private func pause(of receipt: Stored<RedirectReceipt>) -> Duration {
        min(max(age(of: receipt) / 10, .seconds(1)), .seconds(60))
    }

    func age(of receipt: Stored<RedirectReceipt>) -> Duration {
        receipt.clock.now - receipt.record.receivedAt
    }

    /// Where the bank hides the `state`, one of the user's enrollments may have come back without our knowing which;
    /// and where the browser brought it, one of any user's.
    private func hasten(_ poster: UserSubject?) async throws {
        if let poster {
            try await dependencies.store.hasten(enrollmentsAtBankOf: poster)
        } else {
            try await dependencies.store.hastenEnrollmentsWithHiddenState(limit: 16)
        }
    }

    func owner(of receipt: Stored<RedirectReceipt>) async throws -> Stored<Enrollment>? {
        guard let id = receipt.record.enrollment else { return nil }
        return try await dependencies.store.enrollment(id)
    }
}

extension Redirection {
    var state: String {
        switch self {
        case .approved(let state, _, _), .rejected(let state, _, _): state
        }
    }

    var isRejection: Bool {
        if case .rejected = self { true } else { false }
    }

    /// The parameters of a redirect, encrypted until Belvo has them; their digest tells one redirect from another.
    var json: [UInt8] {
        JSONWriter.object { text in
            switch self {
            case .approved(let state, let code, let idToken):
                text.member("state", state)
                text.member("code", code)
                text.member("id_token", idToken)
            case .rejected(let state, let error, let errorDescription):
                text.member("state", state)
                text.member("error", error)
                text.member("error_description", errorDescription)
            }
        }
    }

    init(json bytes: [UInt8]) throws {
        let reader = JSONReader(try JSONDocument(parsing: bytes).root)
        guard let state = reader.string("state") else { throw reader.faults }
        if let error = reader.optionalString("error") {
            self = .rejected(
                state: state, error: error, errorDescription: reader.optionalString("error_description"))
        } else {
            guard let code = reader.string("code") else { throw reader.faults }
            self = .approved(state: state, code: code, idToken: reader.optionalString("id_token"))
        }
    }
}

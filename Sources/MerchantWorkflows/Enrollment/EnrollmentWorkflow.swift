import Belvo
import BelvoGate
import FoundationEssentials
import HTTP
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How a device is bound to a bank: each step remembered before Belvo is asked, and recorded after.
package struct EnrollmentWorkflow: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// The request of an app.
    package struct CreateRequest: Sendable {
        package let institution: UUID
        package let platform: Enrollment.Platform
        package let name: EnrollmentName?
        /// One of the merchant's own.
        package let callbackURL: String
        /// Passed on as they came, and not kept.
        package let riskSignals: RawJSON
        let deviceID: String
        /// The day since which the user is a customer, as the risk signals say.
        let accountTenure: AccountTenure
        package let metadata: Metadata?

        package init(
            institution: UUID, platform: Enrollment.Platform, name: EnrollmentName?, callbackURL: String,
            riskSignals: RawJSON, deviceID: String, accountTenure: AccountTenure, metadata: Metadata?
        ) {
            self.institution = institution
            self.platform = platform
            self.name = name
            self.callbackURL = callbackURL
            self.riskSignals = riskSignals
            self.deviceID = deviceID
            self.accountTenure = accountTenure
            self.metadata = metadata
        }
    }

    /// Starts an enrollment. `offered` finds the banks that are offered now; the answer is stored with the
    /// outcome, for the same request under the same key.
    package func create(
        _ requested: CreateRequest, for subject: UserSubject, as request: KeyedRequest<Enrollment>,
        offered: () async throws -> [Belvo.Institution], on context: CallContext
    ) async throws -> Creation<Enrollment> {
        if let known = try await replay(request, of: requested, for: subject, on: context) { return known }
        try await checkBounds(of: subject)
        guard let bank = try await offered().first(where: { $0.id.uuid == requested.institution }) else {
            throw WorkflowRefusal.institutionUnavailable
        }
        guard let customer = try await dependencies.store.customer(of: subject), let payer = customer.record.belvoID
        else {
            throw WorkflowRefusal.customerRequired
        }
        // A wrong day would make the bank's risk engine refuse the user, who could not know why.
        guard let tenure = customer.record.accountTenure, tenure == requested.accountTenure else {
            throw WorkflowRefusal.accountTenureDiffers(
                expected: customer.record.accountTenure ?? requested.accountTenure)
        }
        let enrollment = Enrollment(
            id: Enrollment.ID(dependencies.identities.next()), subject: subject, customer: customer.record.id,
            institution: Enrollment.Institution(
                id: bank.id.uuid, displayName: bank.displayName, iconLogo: bank.iconLogo),
            platform: requested.platform, name: requested.name, callbackURL: requested.callbackURL,
            metadata: requested.metadata, createdAt: .earliest)
        let remembered = try await dependencies.store.insert(
            enrollment, deviceID: requested.deviceID, claiming: request.claim,
            plan: .entered(enrollment.schedule(dependencies.timeouts)), cause: context.cause)
        guard let remembered else {
            guard let known = try await replay(request, of: requested, for: subject, on: context) else {
                throw WorkflowRefusal.inProgress
            }
            return known
        }
        dependencies.funnelCounts.count(remembered.record)
        let outcome = try await CallOrigin.about(bank.id.uuid) {
            try await creation(of: requested, payer: payer, request, on: context).begin(remembered)
        }
        return try await dependencies.replay(request, after: outcome) ?? .made(outcome.progress)
    }

    /// Throws when the user has as many enrollments as he may.
    private func checkBounds(of subject: UserSubject) async throws {
        let bounds = dependencies.policy.userBounds
        guard bounds.openEnrollmentsMax > 0 || bounds.enrollmentsPerDayMax > 0 else { return }
        let begun = try await dependencies.store.enrollmentsBegun(by: subject)
        // Where workers are behind with what was begun, users of whom they poll some begin no more.
        let isBusy = dependencies.gate.areWorkersBehind && begun.waiting >= UserBounds.polledEnrollmentsMaxWhileBusy
        if bounds.openEnrollmentsMax > 0, isBusy || begun.open >= bounds.openEnrollmentsMax {
            throw WorkflowRefusal.tooManyOpenEnrollments(retryAfter: isBusy ? .seconds(5) : .seconds(60))
        }
        if bounds.enrollmentsPerDayMax > 0, begun.today >= bounds.enrollmentsPerDayMax {
            throw WorkflowRefusal.tooManyEnrollments(retryAfter: begun.untilNext)
        }
    }

    private func creation(
        of requested: CreateRequest, payer: UUID, _ request: KeyedRequest<Enrollment>, on context: CallContext
    ) -> RemoteCreation<EnrollmentWorkflow> {
        RemoteCreation(workflow: self, context: context, key: request) { enrollment, belvo in
            let created = try await belvo.createEnrollment(
                NewEnrollment(
                    externalID: enrollment.id.description, customer: Belvo.Customer.ID(payer),
                    institution: Belvo.Institution.ID(requested.institution), name: requested.name?.text,
                    platform: Belvo.Platform(requested.platform), callbackURL: requested.callbackURL,
                    riskSignals: requested.riskSignals,
                    metadata: try requested.metadata.map { try RawJSON(parsing: $0.json) }),
                trace: context.trace)
            return .reported(report(created, of: enrollment))
        }
    }

    /// The outcome of the same request before. Where it is unknown, the app has sent the body again, and the creation
    /// continues.
    private func replay(
        _ request: KeyedRequest<Enrollment>, of requested: CreateRequest, for subject: UserSubject,
        on context: CallContext
    ) async throws -> Creation<Enrollment>? {
        let known = try await dependencies.replay(
            request, record: { try await dependencies.store.enrollment(Enrollment.ID($0), of: subject) },
            isUnknown: { $0.state == .creating })
        guard case .known(.pending(let stored)) = known,
            let payer = try await dependencies.store.customer(of: subject)?.record.belvoID
        else { return known }
        let outcome = try await CallOrigin.about(requested.institution) {
            try await creation(of: requested, payer: payer, request, on: context).resume(stored)
        }
        return try await dependencies.replay(request, after: outcome) ?? .known(outcome.progress)
    }

    /// The enrollment, if it is the user's; else `notFound`.
    package func enrollment(
        _ id: Enrollment.ID, of subject: UserSubject
    ) async throws -> Stored<Enrollment> {
        guard let enrollment = try await dependencies.store.enrollment(id, of: subject) else {
            throw WorkflowRefusal.notFound
        }
        return enrollment
    }
}

// Creating.
extension EnrollmentWorkflow: CreationWorkflow {
    var table: DueTable { .enrollments }

    func writeCreation(
        _ next: Enrollment, over stored: Stored<Enrollment>, after event: Enrollment.Event, cause: Cause,
        settling: (Stored<Enrollment>) -> IdempotencySettlement
    ) async throws -> Stored<Enrollment>? {
        try await write(next, over: stored, event: event.name, cause: cause, settling: settling)
    }
}

// Polling and recording, for handlers and workers alike.
extension EnrollmentWorkflow: PolledWorkflow {
    func write(
        _ next: Enrollment, over stored: Stored<Enrollment>, after event: Enrollment.Event, causedBy cause: Cause
    ) async throws -> Stored<Enrollment>? {
        try await write(next, over: stored, event: event.name, cause: cause)
    }

    func nextPoll(at stored: Stored<Enrollment>) -> Duration? { plan(stored.record, over: stored).nextPoll }

    /// A redirect that is not being passed on any more: Belvo has it, or the user has to start again.
    func localEvent(of enrollment: Enrollment) async throws -> Enrollment.Event? {
        guard enrollment.state == .completing else { return nil }
        return try await dependencies.store.hasOpenReceipt(of: enrollment.id) ? nil : .redirectPassedOn
    }

    /// The enrollment as Belvo has it now, recorded. Throws what hinders reading it.
    func reread(_ stored: Stored<Enrollment>, on context: CallContext) async throws -> Stored<Enrollment> {
        guard let belvoID = stored.record.belvoID else { return stored }
        let remote = try await dependencies.belvo.readEnrollment(Belvo.Enrollment.ID(belvoID), trace: context.trace)
        let seen = report(remote, of: stored.record)
        let event = Enrollment.Event.reported(seen)
        // Nearly always nothing has changed: many payments at once must not stand in each other's way to write that.
        guard try stored.record.transition(on: event) != stored.record else {
            if seen.status == .succeeded, stored.record.state == .succeeded,
                stored.record.differences(from: seen).isEmpty
            {
                dependencies.usableEnrollments.note(belvoID, at: stored.clock.beginning)
            }
            return stored
        }
        return try await recordEvent(event, on: stored, cause: context.cause)
    }

    func readRemoteState(of enrollment: Enrollment, from belvo: Belvo.Client) async -> RemoteState<Enrollment.Event> {
        do {
            return try await read(enrollment, from: belvo).map { .event($0) } ?? .absent
        } catch {
            dependencies.log.warning(
                "enrollment.unreadable", metadata: ["enrollment_id": "\(enrollment.id)", "reason": "\(error)"])
            return .unreadable(after: error)
        }
    }

    /// A bank may never give options, or never decide: many of those keep no others waiting. What fails to be read is
    /// read at the usual pace.
    func rest(ofUnchanged stored: Stored<Enrollment>) -> Duration {
        guard [.awaitingOptions, .confirming].contains(stored.record.state), let deadline = stored.deadline else {
            return .zero
        }
        let (timeouts, left) = (dependencies.timeouts, deadline - stored.clock.now)
        return min(timeouts.unchangedPollInterval(age: timeouts.pollDeadline - left), max(left, timeouts.pollInterval))
    }

    /// Reads the enrollment at Belvo as its present state needs; nil when Belvo does not know it.
    private func read(_ enrollment: Enrollment, from belvo: Belvo.Client) async throws -> Enrollment.Event? {
        guard let belvoID = enrollment.belvoID.map({ Belvo.Enrollment.ID($0) }) else {
            let found = try await belvo.findEnrollments(externalID: enrollment.id.description)
            // Of several the one in the latest state, and of those the first: the list begins with the newest.
            guard let chosen = found.reversed().max(by: { rank($0) < rank($1) }) else { return nil }
            for twin in found where twin.id != chosen.id { logTwin(twin.id.uuid, of: enrollment) }
            return .reported(report(chosen, of: enrollment))
        }
        let mayHaveOptions = enrollment.state == .awaitingOptions || enrollment.state == .atBank
        if mayHaveOptions, let options = try await registrationOptions(of: belvoID, from: belvo) {
            return .optionsArrived(options)
        }
        return .reported(report(try await belvo.readEnrollment(belvoID), of: enrollment))
    }

    /// How far Belvo has brought an enrollment.
    private func rank(_ enrollment: Belvo.Enrollment) -> Int {
        switch ProviderStatus(enrollment.status) {
        case .failed: 0
        case .pending, .processing, .unknown: 1
        case .succeeded: 2
        }
    }

    /// The options, if the bank has given them. A refusal here says less than the enrollment itself.
    private func registrationOptions(of id: Belvo.Enrollment.ID, from belvo: Belvo.Client) async throws -> [UInt8]? {
        do {
            guard case .ready(let options) = try await belvo.readRegistrationOptions(of: id) else { return nil }
            return options.json.bytes
        } catch BelvoError.refused {
            return nil
        }
    }

    /// How a state ends that has lasted too long. An enrollment moves no money, and a later word of Belvo's corrects
    /// it, so it also ends while Belvo is out of reach; only a creation has to be shown absent first.
    func timeoutEvent(of enrollment: Enrollment, after remote: RemoteState<Enrollment.Event>) -> Enrollment.Event? {
        switch (enrollment.state, remote) {
        case (.creating, .absent): .creationLost
        case (.creating, _), (.foreign, _), (.succeeded, _), (.failed, _): nil
        default: .timedOut
        }
    }

    func fresh(_ stored: Stored<Enrollment>) async throws -> Stored<Enrollment>? {
        try await dependencies.store.enrollment(stored.record.id)
    }

    /// Applies an event to the freshest state. With a `deadline` the state that is entered has the rest of that time,
    /// and not its whole own.
    @discardableResult
    func recordEvent(
        _ event: Enrollment.Event, on stored: Stored<Enrollment>, keeping deadline: Timestamp? = nil, cause: Cause
    ) async throws -> Stored<Enrollment> {
        try await apply(event, to: stored) { next, current in
            try await write(next, over: current, event: event.name, keeping: deadline, cause: cause)
        }.after
    }

    /// Writes the next state; nothing comes back when another writer was faster. A writer that is about to send
    /// something claims the row for as long as that may take (`isClaimed`).
    func write(
        _ next: Enrollment, over stored: Stored<Enrollment>, event: String, keeping deadline: Timestamp? = nil,
        isClaimed: Bool = false, cause: Cause,
        settling: (Stored<Enrollment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Enrollment>? {
        let moment = next == stored.record ? stored.updatedAt : stored.clock.now
        // The answer that is stored with the change shows the record as it will be.
        var preview = stored
        preview.record = next
        preview.updatedAt = moment
        var plan =
            deadline.map { PollPlan.goesOn(nextPoll: max($0 - stored.clock.now, .zero), deadline: $0) }
            ?? self.plan(next, over: stored)
        if isClaimed { plan = PollPlan.entered(next.sendingSchedule(dependencies.timeouts)).claimed }
        preview.deadline = plan.deadline(at: stored.clock.now)
        let written = try await refusingRepeatedID(of: next) {
            try await dependencies.store.update(
                stored, to: next, redirectState: next.redirectURL.flatMap(redirectState), event: event,
                plan: plan, cause: cause, at: moment, key: settling(preview),
                emitting: dependencies.event(next, before: stored.record, at: moment))
        }
        if let written {
            // It is usable by Belvo's status alone, which was read after our row.
            if written.record.state == .succeeded, stored.record.state != .succeeded, let id = written.record.belvoID {
                dependencies.usableEnrollments.note(id, at: stored.clock.beginning)
            }
            publish(written, after: stored, cause: cause)
        }
        return written
    }

    /// When the record is polled next.
    func plan(_ next: Enrollment, over stored: Stored<Enrollment>) -> PollPlan {
        guard next.state == stored.record.state, next.status == .pending else {
            return .entered(next.schedule(dependencies.timeouts))
        }
        // Belvo is not asked again while a person is busy; what cannot be read for long is polled ever less often.
        var rest = next.waitsForPerson ? stored.deadline.map { $0 - stored.clock.now } : nil
        if next.isCreating {
            rest = dependencies.timeouts.creationPollInterval(age: stored.creationAge(dependencies.timeouts))
        }
        // Polled before its time because it may have come back unseen (`hasten`): Belvo may not show that at once.
        if next.state == .atBank, let url = next.redirectURL, redirectState(in: url) == nil {
            rest = rest.map { min($0, .seconds(5)) }
        }
        let overdue = stored.isOverdue ? stored.deadline.map { stored.clock.now - $0 } : nil
        let pause = overdue.map(dependencies.timeouts.overduePollInterval) ?? rest ?? .zero
        // What has just changed is polled at the pace of the state that was entered: a user waits for it.
        let isFresh = stored.clock.now - stored.updatedAt < dependencies.timeouts.pollInterval
        let first = isFresh ? next.schedule(dependencies.timeouts)?.firstPoll : nil
        let interval = min(first ?? dependencies.timeouts.pollInterval, dependencies.timeouts.pollInterval)
        return .goesOn(nextPoll: max(pause, interval), deadline: stored.deadline)
    }

    /// Tells those who wait of a change, and the log of a change of state.
    func publish(_ written: Stored<Enrollment>, after stored: Stored<Enrollment>, cause: Cause) {
        if written.record != stored.record { dependencies.changes.announce(written.record.id) }
        guard written.record.state != stored.record.state else { return }
        dependencies.funnelCounts.count(written.record)
        dependencies.log.info(
            "enrollment.\(written.record.state.rawValue)",
            metadata: [
                "enrollment_id": "\(written.record.id)", "request_id": cause.requestID.map { "\($0)" } ?? "",
                "caused_by": "\(cause.actor.rawValue)",
            ])
    }

    /// Belvo's enrollment as a report. An unknown status raises an alarm, and so does another identity.
    func report(_ remote: Belvo.Enrollment, of enrollment: Enrollment) -> Enrollment.Report {
        if case .unknown(let word) = remote.status {
            dependencies.log.error(
                "enrollment.unknown_status", metadata: ["belvo_id": "\(remote.id)", "status": "\(word)"])
        }
        let report = Enrollment.Report(
            belvoID: remote.id.uuid, externalID: remote.externalID, customer: remote.details.customer?.uuid,
            status: ProviderStatus(remote.status), providerStatus: remote.status.word,
            providerDetailsStatus: remote.details.status?.word, redirectURL: remote.details.redirectURL,
            expiresAt: remote.details.expiresAt, payerInformation: remote.details.payerInformation?.bytes,
            reasonCode: remote.statusReasonCode, reasonMessage: remote.statusReasonMessage)
        let differences = enrollment.differences(from: report)
        if !differences.isEmpty {
            dependencies.log.critical(
                "enrollment.differs",
                metadata: [
                    "enrollment_id": "\(enrollment.id)", "belvo_id": "\(remote.id)",
                    "members": "\(differences.joined(separator: ","))",
                ])
        }
        return report
    }

    /// The `state` in the query of the address where the user approves; nothing where the bank hides it.
    private func redirectState(in redirectURL: String) -> String? {
        guard let question = redirectURL.firstIndex(of: "?") else { return nil }
        let query = redirectURL[redirectURL.index(after: question)...].prefix { $0 != "#" }
        return (try? FormFields(parsing: String(query)))?["state"]
    }
}

extension ProviderStatus {
    init(_ status: EnrollmentStatus) {
        switch status {
        case .pending: self = .pending
        case .succeeded: self = .succeeded
        case .failed, .canceled: self = .failed
        case .unknown: self = .unknown
        }
    }
}

extension Belvo.Platform {
    init(_ platform: Enrollment.Platform) {
        switch platform {
        case .ios: self = .ios
        case .android: self = .android
        case .browser: self = .browser
        }
    }
}

import Belvo
import FoundationEssentials
import HTTP
import Logging
import Payments

/// How a device is bound to a bank: each step remembered before Belvo is asked, and recorded after.
struct EnrollmentJourney: Sendable {
    let world: World

    /// What an app asks for.
    struct Wish: Sendable {
        let institution: UUID
        let platform: Enrollment.Platform
        let name: EnrollmentName?
        /// One of the merchant's own.
        let callbackURL: String
        /// Passed on as they came, and not kept.
        let riskSignals: RawJSON
        let deviceID: String
        /// What the risk signals say about since when the user is a customer.
        let accountTenure: AccountTenure
        let metadata: Metadata?
    }

    /// Starts an enrollment. `offered` finds the banks that are offered now; what the app is told is stored with the
    /// outcome, for the same request under the same key.
    func create(
        _ wish: Wish, for subject: UserSubject, as request: KeyedRequest<Enrollment>,
        offered: () async throws -> [Belvo.Institution], on occasion: Occasion
    ) async throws -> Creation<Enrollment> {
        if let known = try await replay(request, of: wish, for: subject, on: occasion) { return known }
        try await checkBounds(of: subject)
        guard let bank = try await offered().first(where: { $0.id.uuid == wish.institution }) else {
            throw JourneyRefusal.institutionUnavailable
        }
        guard let customer = try await world.store.customer(of: subject), let payer = customer.record.belvoID else {
            throw JourneyRefusal.customerRequired
        }
        // A wrong day would make the bank's risk engine refuse the user, who could not know why.
        guard let tenure = customer.record.accountTenure, tenure == wish.accountTenure else {
            throw JourneyRefusal.accountTenureDiffers(expected: customer.record.accountTenure ?? wish.accountTenure)
        }
        let enrollment = Enrollment(
            id: Enrollment.ID(world.identities.next()), subject: subject, customer: customer.record.id,
            institution: Enrollment.Institution(
                id: bank.id.uuid, displayName: bank.displayName, iconLogo: bank.iconLogo),
            platform: wish.platform, name: wish.name, callbackURL: wish.callbackURL,
            metadata: wish.metadata, createdAt: .earliest)
        let remembered = try await world.store.insert(
            enrollment, deviceID: wish.deviceID, claiming: request.claim,
            planned: .entered(enrollment.schedule(world.patience)), cause: occasion.cause)
        guard let remembered else {
            guard let known = try await replay(request, of: wish, for: subject, on: occasion) else {
                throw JourneyRefusal.inProgress
            }
            return known
        }
        return .made(try await creation(of: wish, payer: payer, request, on: occasion).begin(remembered))
    }

    /// Throws when the user has as many enrollments as he may.
    private func checkBounds(of subject: UserSubject) async throws {
        let bounds = world.policy.userBounds
        guard bounds.openEnrollmentsMax > 0 || bounds.enrollmentsPerDayMax > 0 else { return }
        let begun = try await world.store.enrollmentsBegun(by: subject)
        if bounds.openEnrollmentsMax > 0, begun.open >= bounds.openEnrollmentsMax {
            throw JourneyRefusal.tooManyOpenEnrollments
        }
        if bounds.enrollmentsPerDayMax > 0, begun.today >= bounds.enrollmentsPerDayMax {
            throw JourneyRefusal.tooManyEnrollments(retryAfter: begun.untilNext)
        }
    }

    private func creation(
        of wish: Wish, payer: UUID, _ request: KeyedRequest<Enrollment>, on occasion: Occasion
    ) -> RemoteCreation<EnrollmentJourney> {
        RemoteCreation(workflow: self, occasion: occasion, key: request) { enrollment, belvo in
            let created = try await belvo.createEnrollment(
                NewEnrollment(
                    externalID: enrollment.id.description, customer: Belvo.Customer.ID(payer),
                    institution: Belvo.Institution.ID(wish.institution), name: wish.name?.text,
                    platform: Belvo.Platform(wish.platform), callbackURL: wish.callbackURL,
                    riskSignals: wish.riskSignals, metadata: try wish.metadata.map { try RawJSON(parsing: $0.json) }),
                trace: occasion.trace)
            return .reported(report(created))
        }
    }

    /// What the same request came to before. Where nobody knows, the app has brought the body again, and it goes on.
    private func replay(
        _ request: KeyedRequest<Enrollment>, of wish: Wish, for subject: UserSubject, on occasion: Occasion
    ) async throws -> Creation<Enrollment>? {
        let known = try await world.replay(
            request, record: { try await world.store.enrollment(Enrollment.ID($0), of: subject) },
            isUnknown: { $0.state == .creating })
        guard case .known(.pending(let stored)) = known,
            let payer = try await world.store.customer(of: subject)?.record.belvoID
        else { return known }
        return .known(try await creation(of: wish, payer: payer, request, on: occasion).resume(stored))
    }

    func enrollment(
        _ id: Enrollment.ID, of subject: UserSubject
    ) async throws -> Stored<Enrollment> {
        guard let enrollment = try await world.store.enrollment(id, of: subject) else { throw JourneyRefusal.notFound }
        return enrollment
    }
}

// Creating.
extension EnrollmentJourney: CreationWorkflow {
    var table: DueTable { .enrollments }

    func recordCreation(
        _ event: Enrollment.Event, on stored: Stored<Enrollment>, cause: Cause,
        settling: (Stored<Enrollment>) -> IdempotencySettlement
    ) async throws -> Stored<Enrollment> {
        try await record(event, on: stored, cause: cause, settling: settling)
    }
}

// Looking and recording, for handlers and pollers alike.
extension EnrollmentJourney: LookingJourney {
    func write(
        _ next: Enrollment, over stored: Stored<Enrollment>, after event: Enrollment.Event, causedBy cause: Cause
    ) async throws -> Stored<Enrollment>? {
        try await write(next, over: stored, event: event.name, cause: cause)
    }

    func nextLook(at stored: Stored<Enrollment>) -> Duration? { planned(stored.record, over: stored).nextLook }

    /// A redirect that nobody is passing on any more: Belvo has it, or the user has to come again.
    func ownNews(of enrollment: Enrollment) async throws -> Enrollment.Event? {
        guard enrollment.state == .completing else { return nil }
        return try await world.store.hasOpenReceipt(of: enrollment.id) ? nil : .redirectPassedOn
    }

    /// The enrollment as Belvo has it now, recorded. Throws what hinders reading it.
    func reread(_ stored: Stored<Enrollment>, on occasion: Occasion) async throws -> Stored<Enrollment> {
        guard let belvoID = stored.record.belvoID else { return stored }
        let told = try await world.belvo.readEnrollment(Belvo.Enrollment.ID(belvoID), trace: occasion.trace)
        let event = Enrollment.Event.reported(report(told))
        // Nearly always nothing has changed: many payments at once must not stand in each other's way to write that.
        guard try stored.record.transition(on: event) != stored.record else { return stored }
        return try await record(event, on: stored, cause: occasion.cause)
    }

    func news(of enrollment: Enrollment, from belvo: Belvo.Client) async -> News<Enrollment.Event> {
        do {
            return try await ask(belvo, about: enrollment).map { .event($0) } ?? .absent
        } catch {
            world.log.warning(
                "enrollment.unreadable", metadata: ["enrollment_id": "\(enrollment.id)", "reason": "\(error)"])
            return .unreadable
        }
    }

    /// What Belvo has to say about the enrollment in its present state; nothing when it does not know it.
    private func ask(_ belvo: Belvo.Client, about enrollment: Enrollment) async throws -> Enrollment.Event? {
        guard let belvoID = enrollment.belvoID.map({ Belvo.Enrollment.ID($0) }) else {
            let found = try await belvo.findEnrollments(externalID: enrollment.id.description)
            // Of several the one that has come furthest, and of those the first: the list begins with the newest.
            guard let chosen = found.reversed().max(by: { rank($0) < rank($1) }) else { return nil }
            for twin in found where twin.id != chosen.id { logTwin(twin.id.uuid, of: enrollment) }
            return .reported(report(chosen))
        }
        let mayHaveOptions = enrollment.state == .awaitingOptions || enrollment.state == .atBank
        if mayHaveOptions, let options = try await registrationOptions(of: belvoID, from: belvo) {
            return .optionsArrived(options)
        }
        return .reported(report(try await belvo.readEnrollment(belvoID)))
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
    func lapse(of enrollment: Enrollment, after news: News<Enrollment.Event>) -> Enrollment.Event? {
        switch (enrollment.state, news) {
        case (.creating, .absent): .creationLost
        case (.creating, _), (.observed, _), (.succeeded, _), (.failed, _): nil
        default: .timedOut
        }
    }

    /// Applies an event to the freshest state, however many others change the record meanwhile.
    ///
    /// Where the record has gone further already, the event comes too late to matter, and the record comes back as
    /// it is: a poller may have read the end before the call that led to it was answered. With a `deadline` the state
    /// that is entered has the rest of that time, and not its whole own.
    @discardableResult
    func record(
        _ event: Enrollment.Event, on stored: Stored<Enrollment>, keeping deadline: Timestamp? = nil, cause: Cause,
        settling: (Stored<Enrollment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Enrollment> {
        var current = stored
        for _ in 0..<attemptsMax {
            guard let next = try? current.record.transition(on: event) else { return current }
            let written = try await write(
                next, over: current, event: event.name, keeping: deadline, cause: cause, settling: settling)
            if let written { return written }
            guard let fresh = try await world.store.enrollment(stored.record.id) else { break }
            current = fresh
        }
        throw JourneyRefusal.contended
    }

    /// Writes the next state; nothing comes back when somebody else was faster. Whoever is about to send something
    /// `isHeld` has the row for as long as that may take.
    func write(
        _ next: Enrollment, over stored: Stored<Enrollment>, event: String, keeping deadline: Timestamp? = nil,
        isHeld: Bool = false, cause: Cause,
        settling: (Stored<Enrollment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Enrollment>? {
        let moment = next == stored.record ? stored.updatedAt : stored.clock.now
        // The answer that is stored with the change shows the record as it will be.
        var preview = stored
        preview.record = next
        preview.updatedAt = moment
        var planned =
            deadline.map { Planned.goesOn(nextLook: max($0 - stored.clock.now, .zero), deadline: $0) }
            ?? self.planned(next, over: stored)
        if isHeld { planned = Planned.entered(next.sendingSchedule(world.patience)).held }
        let written = try await world.store.update(
            stored, to: next, redirectState: next.redirectURL.flatMap(redirectState), event: event,
            planned: planned, cause: cause, at: moment, key: settling(preview),
            telling: world.event(next, before: stored.record, at: moment))
        if let written { tell(written, after: stored, cause: cause) }
        return written
    }

    /// When the record is looked at next.
    func planned(_ next: Enrollment, over stored: Stored<Enrollment>) -> Planned {
        guard next.state == stored.record.state, next.status == .pending else {
            return .entered(next.schedule(world.patience))
        }
        // Nobody asks Belvo again while a person is busy; what cannot be read for long is asked about ever less often.
        let rest = next.waitsForPerson ? stored.deadline.map { $0 - stored.clock.now } : nil
        let overdue = stored.isOverdue ? stored.deadline.map { stored.clock.now - $0 } : nil
        let pause = overdue.map(world.patience.doubtInterval) ?? rest ?? .zero
        return .goesOn(nextLook: max(pause, world.patience.pollInterval), deadline: stored.deadline)
    }

    /// Tells those who wait of a change, and the log of a change of state.
    func tell(_ written: Stored<Enrollment>, after stored: Stored<Enrollment>, cause: Cause) {
        if written.record != stored.record { world.changes.announce(written.record.id) }
        guard written.record.state != stored.record.state else { return }
        world.log.info(
            "enrollment.\(written.record.state.rawValue)",
            metadata: [
                "enrollment_id": "\(written.record.id)", "request_id": cause.requestID.map { "\($0)" } ?? "",
                "caused_by": "\(cause.actor.rawValue)",
            ])
    }

    func report(_ enrollment: Belvo.Enrollment) -> Enrollment.Report {
        if case .unknown(let word) = enrollment.status {
            world.log.error(
                "enrollment.unknown_status", metadata: ["belvo_id": "\(enrollment.id)", "status": "\(word)"])
        }
        return Enrollment.Report(
            belvoID: enrollment.id.uuid, status: ProviderStatus(enrollment.status),
            providerStatus: enrollment.status.word, providerDetailsStatus: enrollment.details.status?.word,
            redirectURL: enrollment.details.redirectURL, expiresAt: enrollment.details.expiresAt,
            payerInformation: enrollment.details.payerInformation?.bytes,
            reasonCode: enrollment.statusReasonCode, reasonMessage: enrollment.statusReasonMessage)
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

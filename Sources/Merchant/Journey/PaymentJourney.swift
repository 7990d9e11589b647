import Belvo
import FoundationEssentials
import Logging
import Payments

/// How a payment is made: remembered before Belvo is asked, signed once, and ended by Belvo's word alone.
struct PaymentJourney: Sendable {
    let world: World

    /// What an app asks for.
    struct Wish: Sendable {
        let enrollment: Enrollment.ID
        let reference: Reference?
        /// With an order the price and the texts may be left out.
        let amount: Money?
        let description: PaymentDescription?
        let statementDescription: StatementDescription?
        let metadata: Metadata?
    }

    /// Opens a payment. What the app is told is stored with the outcome, for the same request under the same key.
    func create(
        _ wish: Wish, by subject: UserSubject, as request: KeyedRequest<Payment>, on occasion: Occasion
    ) async throws -> Creation<Payment> {
        if let known = try await replay(request, of: subject) { return known }
        let terms = try await terms(of: wish, for: subject)
        let draft = try await draft(of: wish, on: terms, by: subject, occasion)
        let payment = draft.payment
        if let reference = wish.reference {
            try await refuseIfPaid(reference, of: subject)
            try await askAboutEarlier(reference, of: subject, on: occasion)
        }

        let planned = Planned.entered(payment.schedule(world.patience, signatureTime: nil))
        switch try await world.store.insert(
            payment, pricedBy: terms.order, claiming: request.claim, planned: planned, cause: occasion.cause)
        {
        case .keyIsTaken:
            if let known = try await replay(request, of: subject) { return known }
            // The shop has just changed the order, or the first request with the key has just let go of it.
            throw terms.order == nil ? JourneyRefusal.inProgress : .contended
        case .referenceIsHeld: throw try await holder(of: wish.reference, subject: subject)
        case .payment(let remembered):
            return .made(try await ask(draft.intent, for: remembered, request, on: occasion))
        }
    }

    func payment(_ id: Payment.ID, of subject: UserSubject) async throws -> Stored<Payment> {
        guard let payment = try await world.store.payment(id, of: subject) else { throw JourneyRefusal.notFound }
        return payment
    }

    /// Gives a payment up that was never sent to be authorized. While nobody knows whether Belvo has it, the wish is
    /// remembered.
    ///
    /// Belvo has no such call: a payment that nobody authorizes lapses there by itself, and what Belvo says of it later
    /// still counts.
    func cancel(
        _ id: Payment.ID, of subject: UserSubject, on occasion: Occasion
    ) async throws -> Progress<Stored<Payment>> {
        for _ in 0..<attemptsMax {
            let stored = try await payment(id, of: subject)
            let payment = stored.record
            guard payment.assertionDigest == nil else { throw JourneyRefusal.wrongState(payment.state.rawValue) }
            if payment.state == .failed { return .done(stored) }
            // Somebody else has authorized it at Belvo, and money may be moving.
            if let word = payment.providerStatus, ProviderStatus(PaymentIntentStatus(word)) != .pending {
                throw JourneyRefusal.wrongState(word.lowercased())
            }
            guard let next = try? payment.transition(on: .cancelRequested) else {
                throw JourneyRefusal.wrongState(payment.state.rawValue)
            }
            // The same wish again changes nothing.
            if next == payment { return .pending(stored) }
            let event = Payment.Event.cancelRequested
            guard let written = try await write(next, over: stored, event: event.name, cause: occasion.cause) else {
                continue
            }
            return written.record.state == .failed ? .done(written) : .pending(written)
        }
        throw JourneyRefusal.contended
    }

    /// Passes on the user's signature: the one call that moves money, made once.
    ///
    /// `clientData` is the part of the assertion that says what was signed.
    func authorize(
        _ id: Payment.ID, of subject: UserSubject, with assertion: RawJSON, riskSignals: RawJSON, digest: [UInt8],
        clientData: String, on occasion: Occasion
    ) async throws -> Progress<Stored<Payment>> {
        let stored = try await payment(id, of: subject)
        if let known = stored.record.assertionDigest {
            guard known == digest else { throw JourneyRefusal.alreadyDone }
            return try progress(of: stored)
        }
        guard stored.record.state == .awaitingSignature, !stored.record.isCancelRequested, !stored.isOverdue,
            let options = stored.record.fidoOptions, let belvoID = stored.record.belvoID
        else { throw JourneyRefusal.wrongState(stored.record.state.rawValue) }
        if let reference = stored.record.reference {
            try await refuseIfPaid(reference, of: subject)
        }
        do {
            try ClientData.check(clientData, ceremony: .get, challenge: challenge(in: options) ?? "")
        } catch {
            throw JourneyRefusal.clientDataInvalid(SignedPart(member: "/assertion", fault: error))
        }
        guard let bond = stored.record.enrollment,
            let enrollment = try await world.store.enrollment(bond, of: subject)
        else { throw JourneyRefusal.notFound }
        // Only one of several at once gets past this: the others find another version.
        let next = try stored.record.transition(on: .authorizationSent(digest: digest))
        let event = Payment.Event.authorizationSent(digest: digest)
        guard let sent = try await write(next, over: stored, event: event.name, cause: occasion.cause, unlessPaid: true)
        else {
            return try await authorize(
                id, of: subject, with: assertion, riskSignals: riskSignals, digest: digest, clientData: clientData,
                on: occasion)
        }
        do {
            try await world.belvo.authorizePaymentIntent(
                Belvo.PaymentIntent.ID(belvoID),
                Belvo.Authorization(
                    riskSignals: riskSignals, assertion: assertion,
                    platform: enrollment.record.platform.map(Belvo.Platform.init)),
                trace: occasion.trace)
            return .done(try await record(.authorizationAccepted, on: sent, cause: occasion.cause))
        } catch let error as BelvoError {
            return try await settle(sent, after: error, on: occasion)
        }
    }
}

// Creating.
extension PaymentJourney {
    /// What a repeated signature answers: taken, or not known yet, or what Belvo said of it.
    private func progress(of stored: Stored<Payment>) throws -> Progress<Stored<Payment>> {
        if stored.record.isAuthorizationAccepted { return .done(stored) }
        switch stored.record.state {
        case .failed: throw JourneyRefusal.paymentFailed(stored.record.failure)
        case .succeeded: return .done(stored)
        default: return .pending(stored)
        }
    }

    private func draft(
        of wish: Wish, on terms: PaymentTerms, by subject: UserSubject, _ occasion: Occasion
    ) async throws -> PaymentDraft {
        guard var enrollment = try await world.store.enrollment(wish.enrollment, of: subject) else {
            throw JourneyRefusal.enrollmentUnknown
        }
        // The bank may have taken it back without anybody's telling.
        if enrollment.record.state == .succeeded {
            enrollment = try await EnrollmentJourney(world: world).reread(enrollment, on: occasion)
        }
        guard enrollment.record.state == .succeeded, let bond = enrollment.record.belvoID,
            let payer = try await world.store.customer(of: subject)?.record.belvoID
        else { throw JourneyRefusal.enrollmentNotUsable }
        let (beneficiary, key) = (world.policy.beneficiaryBankAccount, UUID())
        let payment = Payment(
            id: Payment.ID(world.identities.next()), subject: subject, enrollment: wish.enrollment,
            parties: Payment.Parties(customer: payer, enrollment: bond, beneficiaryBankAccount: beneficiary),
            amount: terms.amount, description: terms.description, statementDescription: terms.statementDescription,
            reference: wish.reference, metadata: wish.metadata, belvoIdempotencyKey: key, createdAt: .earliest)
        let intent = NewPaymentIntent(
            externalID: payment.id.description, idempotencyKey: key, amountCentavos: terms.amount.centavos,
            customer: Belvo.Customer.ID(payer),
            enrollment: Belvo.Enrollment.ID(bond), beneficiaryBankAccount: Belvo.BankAccount.ID(beneficiary),
            purpose: terms.description.text, statementDescription: terms.statementDescription.text,
            metadata: try wish.metadata.map { try RawJSON(parsing: $0.json) })
        return PaymentDraft(payment: payment, intent: intent)
    }

    private func ask(
        _ wanted: NewPaymentIntent, for remembered: Stored<Payment>, _ request: KeyedRequest<Payment>,
        on occasion: Occasion
    ) async throws -> Progress<Stored<Payment>> {
        let payment = remembered.record
        do {
            let intent = try await world.belvo.createPaymentIntent(wanted, trace: occasion.trace)
            let event = Payment.Event.reported(report(intent))
            return .done(
                try await record(event, on: remembered, cause: occasion.cause, settling: request.answered))
        } catch let error as BelvoError {
            if let no = error.refusal {
                try await record(.refused(.refused(no)), on: remembered, cause: occasion.cause) { _ in
                    request.answered(error)
                }
                throw error
            }
            if error.leftNothing {
                try await record(.refused(.notSent), on: remembered, cause: occasion.cause) { _ in request.released }
                throw error
            }
            world.log.warning("payment.outcome_unknown", metadata: ["payment_id": "\(payment.id)"])
            if case .event(let found) = await lookUp(payment) {
                return .done(
                    try await record(found, on: remembered, cause: occasion.cause, settling: request.answered))
            }
            // From here on it is looked for as often as anything that waits for Belvo.
            let unknown = try await record(.creationUnknown, on: remembered, cause: occasion.cause) { _ in
                request.outcomeUnknown
            }
            return unknown.record.state == .creating ? .pending(unknown) : .done(unknown)
        }
    }

    private func replay(
        _ request: KeyedRequest<Payment>, of subject: UserSubject
    ) async throws -> Creation<Payment>? {
        try await world.replay(
            request, record: { try await world.store.payment(Payment.ID($0), of: subject) },
            isUnknown: { $0.state == .creating })
    }

    /// Before a reference is used once more, Belvo says how the attempts ended that we gave up by ourselves. One of
    /// which money may be moving, or of which nothing is certain, keeps the reference.
    private func askAboutEarlier(_ reference: Reference, of subject: UserSubject, on occasion: Occasion) async throws {
        let earlier = try await world.store.paymentsGivenUp(for: reference, of: subject, limit: 20)
        try await withThrowingTaskGroup { group in
            for payment in earlier { group.addTask { try await askAboutEarlier(payment, on: occasion) } }
            try await group.waitForAll()
        }
    }

    private func askAboutEarlier(_ earlier: Stored<Payment>, on occasion: Occasion) async throws {
        let event: Payment.Event?
        do {
            event = try await ask(world.belvo, about: earlier.record)
        } catch BelvoError.notFound {
            event = nil  // Given up long ago, and Belvo does not have it: there is nothing to be paid.
        } catch let error as BelvoError {
            throw error.withoutTheAppsDoing
        }
        guard case .reported(let report)? = event else { return }
        let now = try await record(.reported(report), on: earlier, cause: occasion.cause)
        if now.record.state == .succeeded { throw JourneyRefusal.alreadyPaid(now.record.id) }
        guard now.record.mayLapse(after: report) else { throw JourneyRefusal.paymentInDoubt(now.record.id) }
    }

    private func holder(of reference: Reference?, subject: UserSubject) async throws -> JourneyRefusal {
        guard let reference, let holder = try await world.store.payment(holding: reference, of: subject) else {
            return .contended  // It has just let go: the app may try again at once.
        }
        return holder.record.state == .succeeded ? .alreadyPaid(holder.record.id) : .paymentInDoubt(holder.record.id)
    }

    /// A given-up payment may have been paid after all.
    private func refuseIfPaid(_ reference: Reference, of subject: UserSubject) async throws {
        let paid = try await world.store.payments(
            of: subject, where: .init(status: .succeeded, reference: reference.text), before: nil, limit: 1)
        if let other = paid.first { throw JourneyRefusal.alreadyPaid(other.record.id) }
    }

    /// Records what a failed authorize means.
    private func settle(
        _ sent: Stored<Payment>, after error: BelvoError, on occasion: Occasion
    ) async throws -> Progress<Stored<Payment>> {
        if let no = error.refusal {
            try await record(.refused(.refused(no)), on: sent, cause: occasion.cause)
            throw error
        }
        if error.leftNothing {
            try await record(.authorizationNotSent, on: sent, cause: occasion.cause)
            throw error
        }
        // It may have arrived, and money may move. Only reading can tell: now, or when the poller does.
        world.log.warning("payment.authorization_unknown", metadata: ["payment_id": "\(sent.record.id)"])
        guard case .event(let found) = await lookUp(sent.record) else { return .pending(sent) }
        return try progress(of: try await record(found, on: sent, cause: occasion.cause))
    }

    /// Reads Belvo once, and not for long, right after a call whose answer says nothing.
    private func lookUp(_ payment: Payment) async -> News<Payment.Event> {
        await news(of: payment, from: world.belvo.within(world.patience.lookUpDeadline))
    }
}

// Looking and recording, for handlers and pollers alike.
extension PaymentJourney: LookingJourney {
    func write(
        _ next: Payment, over stored: Stored<Payment>, after event: Payment.Event
    ) async throws -> Stored<Payment>? {
        try await write(next, over: stored, event: event.name, cause: .poller)
    }

    func nextLook(at stored: Stored<Payment>) -> Duration? { planned(stored.record, over: stored).nextLook }

    /// Raises an alarm about what has been in doubt for so long that somebody has to ask Belvo by other means.
    func remind(of stored: Stored<Payment>) {
        guard stored.record.isInDoubt, let deadline = stored.deadline else { return }
        let age = stored.clock.now - deadline
        guard age >= Patience.doubtPatience else { return }
        world.log.critical(
            "payment.in_doubt_for_long",
            metadata: ["payment_id": "\(stored.record.id)", "days": "\(age.components.seconds / 86_400)"])
    }

    func news(of payment: Payment, from belvo: Belvo.Client) async -> News<Payment.Event> {
        do {
            return try await ask(belvo, about: payment).map { .event($0) } ?? .absent
        } catch {
            world.log.warning(
                "payment.unreadable", metadata: ["payment_id": "\(payment.id)", "reason": "\(error)"])
            return .unreadable
        }
    }

    /// How a state ends that has lasted too long.
    ///
    /// What was never authorized here ends by time also while Belvo is out of reach, but not against what Belvo has
    /// just said: somebody else may have authorized it there. A creation has to be shown absent first.
    func lapse(of payment: Payment, after news: News<Payment.Event>) -> Payment.Event? {
        if case .event(.reported(let report)) = news, payment.state != .authorizing, !payment.mayLapse(after: report) {
            return nil
        }
        switch (payment.state, news) {
        case (.creating, .absent): return .creationLost
        case (.creating, _), (.observed, _), (.succeeded, _), (.failed, _): return nil
        // Past its deadline it is in doubt; that is said once, and only Belvo's word ends it.
        case (.authorizing, _): return payment.isInDoubt ? nil : .timedOut
        case (.awaitingOptions, _), (.awaitingSignature, _): return .timedOut
        }
    }

    /// Raises the alarm when Belvo calls something paid that is not what was asked for. The transition then changes
    /// nothing.
    func checked(_ report: Payment.Report, against payment: Payment) -> Payment.Report {
        guard report.status == .succeeded else { return report }
        let differences = payment.differences(from: report)
        if !differences.isEmpty {
            world.log.critical(
                "payment.differs",
                metadata: ["payment_id": "\(payment.id)", "differences": "\(differences.joined(separator: ","))"])
        }
        return report
    }

    /// Applies an event to the freshest state, however many others change the record meanwhile.
    ///
    /// Where the record has gone further already, the event comes too late to matter, and the record comes back as
    /// it is: a poller may have read the end before the call that led to it was answered.
    @discardableResult
    func record(
        _ event: Payment.Event, on stored: Stored<Payment>, cause: Cause,
        settling: (Stored<Payment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Payment> {
        var current = stored
        for _ in 0..<attemptsMax {
            guard let next = try? current.record.transition(on: event) else { return current }
            let written = try await write(next, over: current, event: event.name, cause: cause, settling: settling)
            if let written { return written }
            guard let fresh = try await world.store.payment(stored.record.id) else { break }
            current = fresh
        }
        throw JourneyRefusal.contended
    }

    /// Writes the next state; nothing comes back when somebody else was faster.
    private func write(
        _ next: Payment, over stored: Stored<Payment>, event: String, cause: Cause, unlessPaid: Bool = false,
        settling: (Stored<Payment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Payment>? {
        let moment = next == stored.record ? stored.updatedAt : stored.clock.now
        // The answer that is stored with the change shows the record as it will be.
        var preview = stored
        preview.record = next
        preview.updatedAt = moment
        do {
            let written = try await world.store.update(
                stored, to: next, event: event, planned: planned(next, over: stored), cause: cause, at: moment,
                key: settling(preview), telling: world.event(next, before: stored.record, at: moment),
                unlessPaid: unlessPaid)
            if let written { try await tell(written, after: stored, cause: cause) }
            return written
        } catch is EndToEndIDRepeated {
            // Two payments cannot be one Pix. Whichever was first keeps it, and this one is not believed.
            world.log.critical("payment.end_to_end_id_repeated", metadata: ["payment_id": "\(next.id)"])
            return try await write(
                next.withoutRepeatedEndToEndID(before: stored.record), over: stored, event: event, cause: cause,
                unlessPaid: unlessPaid, settling: settling)
        }
    }

    /// Tells those who wait of a change, and the log of a change of state; raises the loudest alarm there is when a
    /// reference was paid twice.
    private func tell(_ written: Stored<Payment>, after stored: Stored<Payment>, cause: Cause) async throws {
        if written.record != stored.record { world.changes.announce(written.record.id) }
        guard written.record.historyState != stored.record.historyState else { return }
        world.log.log(
            level: written.record.isInDoubt ? .error : .info, "payment.\(written.record.historyState)",
            metadata: [
                "payment_id": "\(written.record.id)", "request_id": cause.requestID.map { "\($0)" } ?? "",
                "caused_by": "\(cause.actor.rawValue)",
            ])
        guard written.record.state == .succeeded, let reference = written.record.reference else { return }
        let paid = try await world.store.payments(
            of: written.record.subject, where: .init(status: .succeeded, reference: reference.text), before: nil,
            limit: 2)
        if paid.count > 1 {
            world.log.critical(
                "payment.double_paid",
                metadata: ["payment_ids": "\(paid.map(\.record.id.description).joined(separator: ","))"])
        }
    }

    private func planned(_ next: Payment, over stored: Stored<Payment>) -> Planned {
        let moment = stored.clock.now
        guard next.state == stored.record.state, next.status == .pending else {
            return .entered(schedule(of: next, created: moment - stored.record.createdAt))
        }
        // What was due long ago is looked at ever less often, whatever keeps it open.
        if stored.isOverdue, let deadline = stored.deadline {
            return .goesOn(nextLook: world.patience.doubtInterval(overdue: moment - deadline), deadline: deadline)
        }
        let rest = next.state == .awaitingSignature ? stored.deadline.map { $0 - moment } : nil
        return .goesOn(nextLook: max(rest ?? .zero, world.patience.pollInterval), deadline: stored.deadline)
    }

    /// The schedule of a state just entered. The time for the signature runs from the challenge, and does not begin
    /// anew when an assertion could not be sent.
    private func schedule(of payment: Payment, created age: Duration) -> Schedule? {
        let schedule = payment.schedule(world.patience, signatureTime: signatureTime(of: payment))
        guard payment.state == .awaitingSignature, let schedule else { return schedule }
        let rest = max(schedule.deadline - age, .zero)
        return Schedule(firstLook: rest, deadline: rest)
    }

    /// How long the challenge lives, as the options say.
    private func signatureTime(of payment: Payment) -> Duration? {
        payment.fidoOptions.flatMap { FIDOTimeout.milliseconds(in: $0) }.map(Duration.milliseconds)
    }
}

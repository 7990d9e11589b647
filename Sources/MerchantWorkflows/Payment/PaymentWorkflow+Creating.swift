import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// Opening a payment: it is remembered, asked for at Belvo, and recorded.
extension PaymentWorkflow {
    /// Opens a payment. The answer is stored with the outcome, for the same request under the same key.
    package func create(
        _ requested: CreateRequest, by subject: UserSubject, as request: KeyedRequest<Payment>, on context: CallContext
    ) async throws -> Creation<Payment> {
        let survey = try await survey(for: requested, of: subject, as: request)
        return try await CallOrigin.about(survey.enrollment?.institution) {
            try await create(requested, survey, by: subject, as: request, on: context)
        }
    }

    private func create(
        _ requested: CreateRequest, _ survey: PaymentSurvey, by subject: UserSubject,
        as request: KeyedRequest<Payment>, on context: CallContext
    ) async throws -> Creation<Payment> {
        if survey.isKeyUsed {
            if let known = try await replay(request, of: subject, on: context) { return known }
        } else {
            try checkBounds(of: survey, subject)
        }
        let payer = try await payer(for: requested, of: subject, survey, context)
        var isTaken = survey.isReferenceTaken
        var failed: PaymentSurvey.FailedAttempt?
        if !isTaken, let last = survey.failedAfterSignature {
            isTaken = try await isTakenBack(last, on: context)
            failed = last
        }
        for attempt in 0..<attemptsMax {
            let isFirst = attempt == 0
            let order = try await isFirst ? survey.order : self.order(of: requested)
            let terms = try terms(of: requested, under: order, for: subject)
            if let reference = requested.reference, !isFirst || isTaken,
                let refusal = try await recheckThenRefuse(
                    reference, of: subject, isPricedByOrder: order != nil, on: context)
            {
                // The first request with this key may be what is in the way.
                if let known = try await replay(request, of: subject, on: context) { return known }
                throw refusal
            }
            let payment = draft(of: requested, on: terms, from: payer, by: subject)
            let plan = PollPlan.entered(payment.creationSchedule(dependencies.timeouts))
            switch try await dependencies.store.insert(
                payment, pricedBy: terms.order, afterReading: failed?.belvoID, claiming: request.claim, plan: plan,
                cause: context.cause)
            {
            case .payment(let remembered):
                dependencies.funnelCounts.count(remembered.record)
                do {
                    let creation = creation(request, on: context)
                    let outcome =
                        payer.wasRead
                        ? try await CallOrigin.continuing { try await creation.begin(remembered) }
                        : try await creation.begin(remembered)
                    return try await dependencies.replay(request, after: outcome) ?? .made(outcome.progress)
                } catch let error as BelvoError where error.saysNoEffect {
                    _ = dependencies.unsentPayments.take(for: subject, at: dependencies.store.monotonic())
                    throw error
                }
            case .referenceTaken, .keyIsTaken:
                // Another request was faster: with this key, or another payment for the reference, which is said next
                // time round; or the shop has just changed the order, whose new terms count.
                if let known = try await replay(request, of: subject, on: context) { return known }
            case .failureUnread:
                // It has failed since the look at what stands in the way; or stood in the way then, and does no more.
                failed = try await self.survey(for: requested, of: subject, as: request).failedAfterSignature
                if let failed { isTaken = try await isTakenBack(failed, on: context) }
            }
        }
        throw WorkflowRefusal.contended
    }

    /// Reads an attempt that was signed and that Belvo has called FAILED, before another is opened for its reference:
    /// one reading may be wrong, Belvo may have taken it back, and the webhook that says so may be lost.
    ///
    /// True where what it shows was recorded, so that the reference may be taken. It throws while Belvo shows no end of
    /// it: such a reading may be of a copy that lags, and one that fails says nothing. After an hour the first is
    /// believed, and the second no longer waited for.
    private func isTakenBack(_ failed: PaymentSurvey.FailedAttempt, on context: CallContext) async throws -> Bool {
        let id = Belvo.PaymentIntent.ID(failed.belvoID)
        let mayLag = failed.age < WebhookKind.lagMax
        let first: Belvo.PaymentIntent
        do {
            first = try await dependencies.belvo.readPaymentIntent(id, trace: context.trace)
            let seen = report(first)
            if seen.status == .failed, seen.collected.isEmpty { return false }
            if seen.status.end == nil, !seen.mayHavePaid, mayLag { throw WorkflowRefusal.contended }
        } catch let error as BelvoError {
            dependencies.log.warning(
                "payment.unreadable_before_another", metadata: ["belvo_id": "\(id)", "reason": "\(error)"])
            guard mayLag else { return false }
            throw WorkflowRefusal.contended
        }
        do {
            _ = try await syncFromBelvo(id, shownAs: first, on: context)
        } catch let error where error is SyncDeferred || error is BelvoError {
            throw WorkflowRefusal.contended
        }
        return true
    }

    private func survey(
        for requested: CreateRequest, of subject: UserSubject, as request: KeyedRequest<Payment>
    ) async throws -> PaymentSurvey {
        let survey = try await dependencies.store.surveyPayment(
            from: requested.enrollment, for: requested.reference, of: subject, claiming: request.claim,
            openPaymentsMax: dependencies.policy.userBounds.openPaymentsMax,
            paymentsPerDayMax: dependencies.policy.userBounds.paymentsPerDayMax)
        guard let survey else { throw WorkflowRefusal.contended }
        return survey
    }

    /// Throws when the user has as many payments as he may.
    private func checkBounds(of survey: PaymentSurvey, _ subject: UserSubject) throws(WorkflowRefusal) {
        if let wait = dependencies.unsentPayments.wait(for: subject, at: dependencies.store.monotonic()) {
            throw .tooManyUnsentPayments(retryAfter: wait)
        }
        let bounds = dependencies.policy.userBounds
        if bounds.openPaymentsMax > 0, survey.openPayments >= bounds.openPaymentsMax { throw .tooManyOpenPayments }
        if bounds.paymentsPerDayMax > 0, survey.paymentsToday >= bounds.paymentsPerDayMax {
            throw .tooManyPayments(retryAfter: survey.untilNextPayment)
        }
    }

    /// The enrollment that pays, which the bank has not revoked, and its user as Belvo knows one.
    private func payer(
        for requested: CreateRequest, of subject: UserSubject, _ survey: PaymentSurvey, _ context: CallContext
    ) async throws -> PayingEnrollment {
        guard let enrollment = survey.enrollment else { throw WorkflowRefusal.enrollmentUnknown }
        guard enrollment.state == .succeeded, let id = enrollment.belvoID, let customer = survey.payer else {
            throw WorkflowRefusal.enrollmentNotUsable
        }
        // The bank may have revoked it without a webhook.
        if !dependencies.usableEnrollments.isUsable(enrollment, at: survey.clock.now) {
            guard let stored = try await dependencies.store.enrollment(requested.enrollment, of: subject) else {
                throw WorkflowRefusal.enrollmentUnknown
            }
            let seen = try await EnrollmentWorkflow(dependencies: dependencies).reread(stored, on: context)
            guard seen.record.state == .succeeded else { throw WorkflowRefusal.enrollmentNotUsable }
            return PayingEnrollment(id: id, customer: customer, wasRead: true)
        }
        return PayingEnrollment(id: id, customer: customer, wasRead: false)
    }

    private func draft(
        of requested: CreateRequest, on terms: PaymentTerms, from payer: PayingEnrollment, by subject: UserSubject
    ) -> Payment {
        Payment(
            id: Payment.ID(dependencies.identities.next()), subject: subject, enrollment: requested.enrollment,
            parties: Payment.Parties(
                customer: payer.customer, enrollment: payer.id,
                beneficiaryBankAccount: dependencies.policy.beneficiaryBankAccount),
            amount: terms.amount, description: terms.description, statementDescription: terms.statementDescription,
            reference: requested.reference, metadata: requested.metadata, belvoIdempotencyKey: UUID(),
            isPricedByOrder: terms.order != nil, createdAt: .earliest)
    }

    /// The creation of the payment at Belvo: each sending has the terms of the row, and the same key.
    private func creation(
        _ request: KeyedRequest<Payment>, on context: CallContext
    ) -> RemoteCreation<PaymentWorkflow> {
        RemoteCreation(workflow: self, context: context, key: request) { payment, belvo in
            guard let wanted = try NewPaymentIntent(payment) else { return nil }
            var intent: Belvo.PaymentIntent
            do {
                intent = try await belvo.createPaymentIntent(wanted, trace: context.trace)
            } catch {
                // Whatever was answered, the enrollment may be why: it is read again before the next payment. Not where
                // Belvo let nothing in: that reading would use up what a user is allowed.
                if let payer = payment.parties.enrollment, (error as? BelvoError)?.wasLetIn ?? true {
                    dependencies.usableEnrollments.forget(payer)
                }
                throw error
            }
            // An answer without our name for it might be another creation's, whose challenge must not be signed. The
            // intent itself shows whose it is; where it cannot be read now, whatever the reason, it is polled.
            if intent.externalID == nil {
                let reading = belvo.within(dependencies.timeouts.readOnceDeadline)
                guard let read = try? await reading.readPaymentIntent(intent.id, trace: context.trace) else {
                    return .acknowledged(intent.id.uuid)
                }
                intent = read
            }
            let report = try await raisingAlarms(about: report(intent), against: payment)
            // An intent that differs from what was asked for is not signed. It is polled until Belvo shows it right. An
            // answer without a known status does not say that the new intent was signed.
            let isPlain = payment.differences(from: report).isEmpty && report.status != .unknown
            return isPlain ? .reported(report) : .acknowledged(report.belvoID)
        }
    }

    /// The outcome of an earlier request with the same key; nil when there was none. Where that outcome is unknown, the
    /// app has sent the body again, and the creation continues.
    private func replay(
        _ request: KeyedRequest<Payment>, of subject: UserSubject, on context: CallContext
    ) async throws -> Creation<Payment>? {
        let known = try await dependencies.replay(
            request, record: { try await dependencies.store.payment(Payment.ID($0), of: subject) },
            isUnknown: { $0.state == .creating })
        guard case .known(.pending(let stored)) = known else { return known }
        let outcome = try await creation(request, on: context).resume(stored)
        return try await dependencies.replay(request, after: outcome) ?? .known(outcome.progress)
    }

    /// Polls the earlier payments for the reference that were given up here, since Belvo may have closed them or show
    /// them unsigned; then returns the refusal if one has been paid or may still be, else nil.
    private func recheckThenRefuse(
        _ reference: Reference, of subject: UserSubject, isPricedByOrder: Bool, on context: CallContext
    ) async throws -> WorkflowRefusal? {
        var taking = try await dependencies.store.payments(
            taking: reference, of: subject, isPricedByOrder: isPricedByOrder)
        let givenUp = taking.filter {
            $0.record.state == .failed && $0.record.mayBelvoStillPay || $0.isOverdue && !$0.record.isMaybeSigned
        }
        if !givenUp.isEmpty, taking.allSatisfy({ $0.record.state != .succeeded }) {
            // More than a few are never open by themselves; the others are polled, and keep the reference until then.
            try await withThrowingTaskGroup { group in
                for earlier in givenUp.prefix(4) {
                    group.addTask { _ = try await poll(earlier, causedBy: context.cause) }
                }
                try await group.waitForAll()
            }
            taking = try await dependencies.store.payments(
                taking: reference, of: subject, isPricedByOrder: isPricedByOrder)
        }
        return taking.first.map { Self.refusal(by: $0.record, to: subject) }
    }

    /// No user learns the id of another user's payment, which an order may have from before it was that user's.
    static func refusal(by payment: Payment, to subject: UserSubject) -> WorkflowRefusal {
        // Belvo says something of it that has not been read yet: for a moment.
        if payment.state == .failed, !payment.mayBelvoStillPay { return .contended }
        let id = payment.subject == subject ? payment.id : nil
        return payment.state == .succeeded ? .alreadyPaid(id) : .referenceBusy(id)
    }
}

extension PaymentWorkflow: CreationWorkflow {
    var table: DueTable { .payments }

    func writeCreation(
        _ next: Payment, over stored: Stored<Payment>, after event: Payment.Event, cause: Cause,
        settling: (Stored<Payment>) -> IdempotencySettlement
    ) async throws -> Stored<Payment>? {
        try await write(next, over: stored, event: event.name, cause: cause, settling: settling)
    }

    /// The reason for a refusal of Belvo's: the enrollment is read again, since the bank may have revoked it.
    func reason(behind refusal: BelvoError, of payment: Payment, on context: CallContext) async -> RefusalReason {
        guard let enrollment = payment.parties.enrollment else { return .asBelvoSays }
        guard let stored = try? await dependencies.store.enrollment(belvoID: enrollment),
            let seen = try? await EnrollmentWorkflow(dependencies: dependencies).reread(stored, on: context)
        else { return .unknown }
        return seen.record.state == .succeeded ? .asBelvoSays : .other(.enrollmentNotUsable)
    }

    func noteTwin(_ id: UUID, of record: Payment) async throws {
        guard let known = record.belvoID else { return }
        try await noteTwin(id, of: known, of: record.id)
        try await importLater(Belvo.PaymentIntent.ID(id), named: record.id)
    }

    /// Raises the alarm that Belvo has a second intent for the payment. The twin is never signed here, and lapses.
    func noteTwin(_ id: UUID, of known: UUID, of payment: Payment.ID) async throws {
        let ids = [known, id].map { $0.uuidString.lowercased() }.sorted()
        guard try await dependencies.store.raise(.createdTwice, of: payment, ids.joined(separator: ", ")) else {
            return
        }
        dependencies.log.error("payment.created_twice", metadata: ["payment_id": "\(payment)", "belvo_id": "\(id)"])
    }
}

import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How a payment is made: remembered before Belvo is asked, signed once, and ended by Belvo's status alone.
package struct PaymentWorkflow: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// What an app asks for.
    package struct CreateRequest: Sendable {
        package let enrollment: Enrollment.ID
        package let reference: Reference?
        /// With an order the price and the texts may be left out.
        package let amount: Money?
        package let description: PaymentDescription?
        package let statementDescription: StatementDescription?
        package let metadata: Metadata?

        package init(
            enrollment: Enrollment.ID, reference: Reference?, amount: Money?, description: PaymentDescription?,
            statementDescription: StatementDescription?, metadata: Metadata?
        ) {
            self.enrollment = enrollment
            self.reference = reference
            self.amount = amount
            self.description = description
            self.statementDescription = statementDescription
            self.metadata = metadata
        }
    }

    /// Opens a payment. The answer is stored with the outcome, for the same request under the same key.
    package func create(
        _ requested: CreateRequest, by subject: UserSubject, as request: KeyedRequest<Payment>, on context: CallContext
    ) async throws -> Creation<Payment> {
        let survey = try await survey(for: requested, of: subject, as: request)
        if survey.isKeyUsed {
            if let known = try await replay(request, of: subject, on: context) { return known }
        } else if isPastBound(survey.openPayments) {
            throw WorkflowRefusal.tooManyOpenPayments
        }
        let payer = try await payer(for: requested, of: subject, survey, context)
        for attempt in 0..<attemptsMax {
            let isFirst = attempt == 0
            let order = try await isFirst ? survey.order : self.order(of: requested)
            let terms = try terms(of: requested, under: order, for: subject)
            if let reference = requested.reference, !isFirst || survey.isReferenceTaken,
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
                payment, pricedBy: terms.order, claiming: request.claim, plan: plan, cause: context.cause)
            {
            case .payment(let remembered):
                dependencies.funnelCounts.count(remembered.record)
                let outcome = try await creation(request, on: context).begin(remembered)
                return try await dependencies.replay(request, after: outcome) ?? .made(outcome.progress)
            case .referenceTaken, .keyIsTaken:
                // Another request was faster: with this key, or another payment for the reference, which is said next
                // time round; or the shop has just changed the order, whose new terms count.
                if let known = try await replay(request, of: subject, on: context) { return known }
            }
        }
        throw WorkflowRefusal.contended
    }

    /// The payment, if it is the user's; else `notFound`.
    package func payment(_ id: Payment.ID, of subject: UserSubject) async throws -> Stored<Payment> {
        guard let payment = try await dependencies.store.payment(id, of: subject) else {
            throw WorkflowRefusal.notFound
        }
        return payment
    }
}

// Creating.
extension PaymentWorkflow {
    private func survey(
        for requested: CreateRequest, of subject: UserSubject, as request: KeyedRequest<Payment>
    ) async throws -> PaymentSurvey {
        let survey = try await dependencies.store.surveyPayment(
            from: requested.enrollment, for: requested.reference, of: subject, claiming: request.claim,
            openPaymentsMax: dependencies.policy.userBounds.openPaymentsMax)
        guard let survey else { throw WorkflowRefusal.contended }
        return survey
    }

    private func isPastBound(_ openPayments: Int) -> Bool {
        let max = dependencies.policy.userBounds.openPaymentsMax
        return max > 0 && openPayments >= max
    }

    /// What pays: an enrollment that the bank has not taken back, and its user as Belvo knows one.
    private func payer(
        for requested: CreateRequest, of subject: UserSubject, _ survey: PaymentSurvey, _ context: CallContext
    ) async throws -> PayingEnrollment {
        guard let enrollment = survey.enrollment else { throw WorkflowRefusal.enrollmentUnknown }
        guard enrollment.state == .succeeded, let id = enrollment.belvoID, let customer = survey.payer else {
            throw WorkflowRefusal.enrollmentNotUsable
        }
        // The bank may have taken it back, and no webhook has said so.
        if !dependencies.usableEnrollments.isUsable(enrollment, at: survey.clock.now) {
            guard let stored = try await dependencies.store.enrollment(requested.enrollment, of: subject) else {
                throw WorkflowRefusal.enrollmentUnknown
            }
            let seen = try await EnrollmentWorkflow(dependencies: dependencies).reread(stored, on: context)
            guard seen.record.state == .succeeded else { throw WorkflowRefusal.enrollmentNotUsable }
        }
        return PayingEnrollment(id: id, customer: customer)
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

    /// What is sent is what was remembered, each time with the same key.
    private func creation(
        _ request: KeyedRequest<Payment>, on context: CallContext
    ) -> RemoteCreation<PaymentWorkflow> {
        RemoteCreation(workflow: self, context: context, key: request) { payment, belvo in
            guard let wanted = try NewPaymentIntent(payment) else { return nil }
            let intent: Belvo.PaymentIntent
            do {
                intent = try await belvo.createPaymentIntent(wanted, trace: context.trace)
            } catch {
                // Whatever was answered, the enrollment may be why: it is read again before the next payment.
                if let payer = payment.parties.enrollment { dependencies.usableEnrollments.forget(payer) }
                throw error
            }
            let report = try await raisingAlarms(about: report(intent), against: payment)
            // An intent that differs from what was asked for is not signed. It is polled until Belvo shows it right.
            return payment.differences(from: report).isEmpty ? .reported(report) : .acknowledged(report.belvoID)
        }
    }

    /// The outcome of the same request before. Where it is unknown, the app has sent the body again, and the creation
    /// continues.
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
    private func refusal(
        by reference: Reference, of subject: UserSubject, isPricedByOrder: Bool, on context: CallContext
    ) async throws -> WorkflowRefusal? {
        var taking = try await dependencies.store.payments(
            taking: reference, of: subject, isPricedByOrder: isPricedByOrder)
        let givenUp = taking.filter { $0.record.state == .failed || ($0.isOverdue && !$0.record.isMaybeSigned) }
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
        let id = payment.subject == subject ? payment.id : nil
        return payment.state == .succeeded ? .alreadyPaid(id) : .referenceBusy(id)
    }
}

// Polling and recording, for handlers and workers alike.
extension PaymentWorkflow: PolledWorkflow {
    func write(
        _ next: Payment, over stored: Stored<Payment>, after event: Payment.Event, causedBy cause: Cause
    ) async throws -> Stored<Payment>? {
        try await write(next, over: stored, event: event.name, cause: cause)
    }

    func nextPoll(at stored: Stored<Payment>) -> Duration? { plan(stored.record, over: stored).nextPoll }

    /// What was given up is released only by a poll that has shown it: a token may have ended while Belvo could not be
    /// read.
    func pauseUntilRead(of stored: Stored<Payment>, after remote: RemoteState<Payment.Event>) -> Duration? {
        if stored.record.isClosedAtBelvo { return nil }
        switch remote {
        case .event(let event) where stored.record.isShown(by: event): return nil
        case .absent: return nil
        case .event, .unreadable: return .seconds(10)
        }
    }

    /// Raises an alarm about what has been in doubt for so long that an operator has to ask Belvo by other means.
    func alarmIfLongInDoubt(_ stored: Stored<Payment>) {
        guard stored.record.isInDoubt, let deadline = stored.deadline else { return }
        let age = stored.clock.now - deadline
        guard age >= Timeouts.doubtAlarmAge else { return }
        dependencies.log.critical(
            "payment.in_doubt_for_long",
            metadata: ["payment_id": "\(stored.record.id)", "days": "\(age.components.seconds / 86_400)"])
    }

    func readRemoteState(of payment: Payment, from belvo: Belvo.Client) async -> RemoteState<Payment.Event> {
        do {
            return try await read(payment, from: belvo).map { .event($0) } ?? .absent
        } catch {
            dependencies.log.warning(
                "payment.unreadable", metadata: ["payment_id": "\(payment.id)", "reason": "\(error)"])
            await alarmOfMalformedAnswer(error, about: payment)
            return .unreadable
        }
    }

    /// How a state ends that has lasted too long.
    ///
    /// What was never authorized ends by time only after a reading that shows it unsigned, and a creation only when it
    /// is shown absent: what could not be read may have been signed elsewhere.
    func timeoutEvent(of payment: Payment, after remote: RemoteState<Payment.Event>) -> Payment.Event? {
        switch (payment.state, remote) {
        case (.creating, .absent): return .creationLost
        case (.creating, _), (.foreign, _), (.succeeded, _), (.failed, _): return nil
        // Past its deadline it is in doubt; that is said once, and only Belvo's status ends it.
        case (_, _) where payment.isMaybeSigned: return payment.isInDoubt ? nil : .timedOut
        case (_, .event(.reported(let report))) where payment.differences(from: report).isEmpty: return .timedOut
        case (_, _): return nil
        }
    }

    /// The same report, after the alarms about it were raised: that it shows something else than was asked for, or
    /// takes Belvo's last status back. Neither changes a state.
    func raisingAlarms(about report: Payment.Report, against payment: Payment) async throws -> Payment.Report {
        let differences = payment.differences(from: report)
        if !differences.isEmpty {
            let names = differences.joined(separator: ",")
            try await raise(.differs, of: payment, "\(report.providerStatus) with another \(names)")
        }
        // Where money arrived after all the transaction that records it raises the alarm.
        if payment.isLastStatusContradicted(by: report), payment.state == .succeeded {
            try await raise(
                .contradiction, of: payment, "\(report.providerStatus) after \(payment.status.rawValue)")
        }
        return report
    }

    /// Raises the alarm where Belvo's own answer about what may be paid cannot be read. The page of something in front
    /// of it says nothing about the payment.
    private func alarmOfMalformedAnswer(_ error: any Error, about payment: Payment) async {
        guard payment.mayBelvoStillPay, case BelvoError.malformedAnswer(let reason, isJSON: true) = error
        else { return }
        do {
            try await raise(.differs, of: payment, "Belvo's answer cannot be read: \(reason)")
        } catch {
            // The next poll raises it.
            dependencies.log.warning("payment.alarm_not_raised", metadata: ["payment_id": "\(payment.id)"])
        }
    }

    /// Keeps an alarm until an operator has settled it, and logs it once.
    func raise(_ kind: MoneyAlarm.Kind, of payment: Payment, _ detail: String) async throws {
        guard try await dependencies.store.raise(kind, of: payment.id, detail) else { return }
        dependencies.log.critical(
            "payment.\(kind.rawValue)", metadata: ["payment_id": "\(payment.id)", "detail": "\(detail)"])
    }

    func fresh(_ stored: Stored<Payment>) async throws -> Stored<Payment>? {
        try await dependencies.store.payment(stored.record.id)
    }

    /// Applies an event to the freshest state.
    @discardableResult
    func record(_ event: Payment.Event, on stored: Stored<Payment>, cause: Cause) async throws -> Stored<Payment> {
        try await apply(event, to: stored) { next, current in
            try await write(next, over: current, event: event.name, cause: cause)
        }.after
    }

    /// Writes the next state; nothing comes back when another writer was faster.
    func write(
        _ next: Payment, over stored: Stored<Payment>, event: String, cause: Cause,
        settling: (Stored<Payment>) -> IdempotencySettlement = { _ in .unchanged }
    ) async throws -> Stored<Payment>? {
        let moment = next == stored.record ? stored.updatedAt : stored.clock.now
        // The answer that is stored with the change shows the record as it will be.
        var preview = stored
        let plan = plan(next, over: stored)
        preview.record = next
        preview.updatedAt = moment
        preview.deadline = plan.deadline(at: stored.clock.now)
        do {
            let written = try await dependencies.store.update(
                stored, to: next, event: event, plan: plan, cause: cause, at: moment,
                key: settling(preview), emitting: dependencies.event(next, before: stored.record, at: moment))
            if let written { try await publish(written, after: stored, cause: cause) }
            return written
        } catch is BelvoIDRepeated {
            let detail = "it came with the id of another payment, \(next.belvoID.map { "\($0)" } ?? "")"
            try await raise(.differs, of: stored.record, detail)
            throw BelvoError.malformedAnswer(reason: "the id is another payment's")
        } catch is EndToEndIDRepeated {
            // Two payments cannot be one Pix. Whichever was first keeps it, and this one is not believed.
            try await raise(
                .endToEndIDRepeated, of: next, next.facts.endToEndID.map { "\($0) is another payment's" } ?? "")
            return try await write(
                next.withoutRepeatedEndToEndID(before: stored.record), over: stored, event: event, cause: cause,
                settling: settling)
        }
    }

    /// Tells those who wait of a change, and the log of a change of state, and of the alarms that came with it: the
    /// transaction that recorded the money has raised them.
    private func publish(_ written: Stored<Payment>, after stored: Stored<Payment>, cause: Cause) async throws {
        if written.record != stored.record { dependencies.changes.announce(written.record.id) }
        let hasArrived = written.record.state == .succeeded && stored.record.state != .succeeded
        if hasArrived || written.record.isContradicted != stored.record.isContradicted {
            try await logAlarms(of: written.record.id)
        }
        guard written.record.historyState != stored.record.historyState else { return }
        dependencies.funnelCounts.count(written.record)
        dependencies.log.log(
            level: written.record.isInDoubt ? .error : .info, "payment.\(written.record.historyState)",
            metadata: [
                "payment_id": "\(written.record.id)", "request_id": cause.requestID.map { "\($0)" } ?? "",
                "caused_by": "\(cause.actor.rawValue)",
            ])
    }

    /// Logs what the transaction that recorded the money found wrong with it.
    func logAlarms(of payment: Payment.ID) async throws {
        for alarm in try await dependencies.store.openAlarms(of: payment) {
            dependencies.log.critical(
                "payment.\(alarm.kind.rawValue)",
                metadata: ["payment_id": "\(payment)", "detail": "\(alarm.detail)"])
        }
    }

    private func plan(_ next: Payment, over stored: Stored<Payment>) -> PollPlan {
        guard next.status == .pending || next.mayBelvoStillPay else { return .entered(nil) }
        let moment = stored.clock.now
        // A record that was at its end and is open again has a time of its own, from which on it is polled ever less
        // often.
        guard next.state == stored.record.state, stored.deadline != nil else {
            return .entered(schedule(of: next, created: moment - stored.record.createdAt))
        }
        // What was due long ago is polled ever less often, whatever keeps it open.
        if stored.isOverdue, let deadline = stored.deadline {
            return .goesOn(
                nextPoll: dependencies.timeouts.overduePollInterval(overdue: moment - deadline), deadline: deadline)
        }
        let waitsForUser = next.state == .awaitingSignature && !next.isMaybeSigned
        let rest = waitsForUser ? stored.deadline.map { $0 - moment } : nil
        let plan = PollPlan.goesOn(
            nextPoll: max(rest ?? .zero, dependencies.timeouts.pollInterval), deadline: stored.deadline)
        // The signature left a moment ago: that Belvo has taken it does not change the next poll.
        return next.isAuthorizationAccepted && !stored.record.isAuthorizationAccepted ? plan.keepingNextPoll : plan
    }

    /// The schedule of a state just entered. The time for the signature runs from the challenge, and does not begin
    /// anew when an assertion could not be sent.
    private func schedule(of payment: Payment, created age: Duration) -> Schedule? {
        let schedule = payment.schedule(dependencies.timeouts, signatureTime: signatureTime(of: payment))
        guard payment.state == .awaitingSignature, let schedule else { return schedule }
        let rest = max(schedule.deadline - age, .zero)
        return Schedule(firstPoll: payment.isMaybeSigned ? schedule.firstPoll : rest, deadline: rest)
    }

    /// How long the challenge lives, as the options say.
    private func signatureTime(of payment: Payment) -> Duration? {
        payment.fidoOptions.flatMap { FIDOTimeout.milliseconds(in: $0) }.map(Duration.milliseconds)
    }
}

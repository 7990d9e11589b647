import Belvo
import BelvoGate
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

    /// The request of an app.
    package struct CreateRequest: Sendable {
        package let enrollment: Enrollment.ID
        package let reference: Reference?
        /// The price; with an order it may be left out, and so may the texts.
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

    /// The payment, if it is the user's; else throws `notFound`.
    package func payment(_ id: Payment.ID, of subject: UserSubject) async throws -> Stored<Payment> {
        guard let payment = try await dependencies.store.payment(id, of: subject) else {
            throw WorkflowRefusal.notFound
        }
        return payment
    }
}

// Polling and recording, for handlers and workers alike.
extension PaymentWorkflow: PolledWorkflow {
    func write(
        _ next: Payment, over stored: Stored<Payment>, after event: Payment.Event, causedBy cause: Cause
    ) async throws -> Stored<Payment>? {
        if let written = try await write(next, over: stored, event: event.name, cause: cause) { return written }
        // It was overtaken, by an older reading maybe: what shows money is not lost with it.
        if case .reported(let report) = event, report.mayHavePaid, let known = try await fresh(stored),
            known.record.state != .succeeded, known.record.contradiction == nil
        {
            try await holdMoney(shownOf: Belvo.PaymentIntent.ID(report.belvoID))
        }
        return nil
    }

    func nextPoll(at stored: Stored<Payment>) -> Duration? { plan(stored.record, over: stored).nextPoll }

    /// A payment that was given up is released only by a poll that has shown it: a token may have ended while Belvo
    /// could not be read.
    func pauseUntilRead(of stored: Stored<Payment>, after remote: RemoteState<Payment.Event>) -> Duration? {
        if stored.record.isClosedAtBelvo { return nil }
        switch remote {
        case .event(let event) where stored.record.isShown(by: event): return nil
        case .absent: return nil
        case .event, .unreadable: return .seconds(10)
        }
    }

    /// Logs a payment that has been in doubt for so long that an operator has to ask Belvo by other means.
    func alarmIfLongInDoubt(_ stored: Stored<Payment>) {
        guard stored.record.isInDoubt, let deadline = stored.deadline else { return }
        let age = stored.clock.now - deadline
        guard age >= Timeouts.doubtAlarmAge else { return }
        dependencies.log.critical(
            "payment.in_doubt_for_long",
            metadata: ["payment_id": "\(stored.record.id)", "days": "\(age.components.seconds / 86_400)"])
    }

    /// A foreign payment is never in doubt, since time alone changes nothing of it here: past its deadline, money that
    /// it has collected is an alarm all the same.
    func raiseAlarms(ofOverdue stored: Stored<Payment>) async throws {
        guard stored.isOverdue, stored.record.state == .foreign else { return }
        try await raiseIfCollectedUnended(stored.record)
    }

    func readRemoteState(of payment: Payment, from belvo: Belvo.Client) async -> RemoteState<Payment.Event> {
        do {
            return try await read(payment, from: belvo).map { .event($0) } ?? .absent
        } catch {
            dependencies.log.warning(
                "payment.unreadable", metadata: ["payment_id": "\(payment.id)", "reason": "\(error)"])
            await alarmOfMalformedAnswer(error, about: payment)
            // Where the database fails, too, the next list shows it.
            if let intent = payment.belvoID { try? await holdMoneyListed(of: intent) }
            return .unreadable(after: error)
        }
    }

    /// The event that ends a state that has lasted too long; nil where time alone does not end it.
    ///
    /// A payment that was never authorized ends by time only after a reading that shows it unsigned, and a creation
    /// only when it is shown absent: a payment that could not be read may have been signed elsewhere.
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

    /// The same report, after the alarms about it were raised: that it shows something else than was asked for, takes
    /// Belvo's last status back, or shows another transfer than the one that paid. None changes a state.
    ///
    /// What would dispute a payment has to be in a second reading: throws where that shows something else.
    func raisingAlarms(about report: Payment.Report, against payment: Payment) async throws -> Payment.Report {
        if !report.isReadTwice, payment.isDisputed(by: report) {
            let intent = Belvo.PaymentIntent.ID(report.belvoID)
            // What is paid keeps its reference for good; what is contradicted, until an operator settles that.
            if payment.state != .succeeded, payment.contradiction == nil, report.mayHavePaid {
                try await holdMoney(shownOf: intent)
            }
            let again = try await dependencies.belvo.readPaymentIntent(intent)
            guard self.report(again).showsSameMoney(as: report) else { throw SyncDeferred.readingsDiffer }
        }
        if report.mayHavePaid {
            dependencies.listMemory.forgetMoney(of: report.belvoID)
        } else {
            try await holdMoneyListed(of: report.belvoID)
        }
        let differences = payment.differences(from: report)
        // Belvo may fill in the transfer a moment later.
        let mayFillIn = payment.status == .pending && !payment.isInDoubt && differences == ["end_to_end_id"]
        if !differences.isEmpty, !mayFillIn {
            let names = differences.joined(separator: ",")
            try await raise(.differs, of: payment, "\(report.providerStatus) with other or no \(names)")
        }
        // Where money arrived after all the transaction that records it raises the alarm. It is raised anew here when
        // an operator has settled it and Belvo shows no end yet.
        if payment.isLastStatusTakenBack(by: report),
            payment.state == .succeeded || payment.contradiction?.isSettled == true
        {
            try await raise(
                .contradiction, of: payment, "\(report.providerStatus) after \(payment.status.rawValue)")
        }
        // Two transfers in the answer that first shows it as paid are one too many as well.
        let after = (try? payment.transition(on: .reported(report))) ?? payment
        let paying = report.status == .succeeded ? [report.facts.endToEndID] : []
        try await raiseIfPaidTwice(after, by: report.collected.map(\.transfer) + paying)
        try await raiseIfCollectedInDoubt(after)
        if (after.belvoID ?? report.belvoID) == report.belvoID {
            try await raiseIfOtherAmount(after, by: report.collected)
            // One that is shown as paid only now is read again after a while (`holdMoney`).
            if payment.state == .succeeded, report.status == .succeeded, report.hasOnlyEndedCharges,
                after.collectedBy.isEmpty
            {
                try await raiseBesideTerms(after, "\(report.providerStatus), and its charges have collected nothing")
            }
        }
        if payment.belvoID == report.belvoID { try await raiseIfCollectedAnew(payment, by: report.collected) }
        return report
    }

    /// Keeps the reference of an intent of which a list has shown money a moment ago, and a reading has not, or has
    /// failed: it may be of a copy that lags, and other servers know nothing of the list.
    private func holdMoneyListed(of intent: UUID) async throws {
        guard dependencies.listMemory.hasShownMoney(of: intent, at: dependencies.gate.now()) else { return }
        try await holdMoney(shownOf: Belvo.PaymentIntent.ID(intent), byList: true)
    }

    /// Raises the alarm, once, where Belvo shows no end in time of what has collected money, or that was given up here:
    /// another one may have been paid in its place.
    private func raiseIfCollectedInDoubt(_ payment: Payment) async throws {
        let isGivenUp = payment.state == .failed && !payment.isClosedAtBelvo
        if payment.isInDoubt || isGivenUp { try await raiseIfCollectedUnended(payment) }
    }

    private func raiseIfCollectedUnended(_ payment: Payment) async throws {
        guard !payment.collectedBy.isEmpty,
            try await !dependencies.store.hasSettled(.contradiction, of: payment.id)
        else { return }
        let names = payment.collectedBy.sorted().joined(separator: " ")
        try await raise(.contradiction, of: payment, "\(payment.providerStatus ?? ""), collected by \(names)")
    }

    /// Has the alarm name all that has collected money for what is contradicted; one that an operator has settled is
    /// raised again where something else has since.
    private func raiseIfCollectedAnew(_ payment: Payment, by collections: [Payment.Collection]) async throws {
        let further = collections.filter(payment.isCollectedAnew)
        guard payment.contradiction != nil, !further.isEmpty else { return }
        let names = payment.collectedBy.union(further.flatMap(\.names)).sorted().joined(separator: " ")
        try await raise(.contradiction, of: payment, "it goes on after FAILED, collected by \(names)")
    }

    /// Records that a charge or a transaction of an intent has collected money.
    ///
    /// Belvo may show the intent as FAILED or unsigned all the same. From then on the payment keeps its reference, is
    /// polled, and where it had failed an operator is asked (promise 1), once.
    func noteCollected(_ intent: UUID, by collection: Payment.Collection, cause: Cause) async throws {
        guard let stored = try await dependencies.store.payment(belvoID: intent) else { return }
        let payment = stored.record
        let after = try payment.transition(on: .collected(collection))
        try await raiseIfPaidTwice(after, by: [collection.transfer])
        try await raiseIfOtherAmount(after, by: [collection])
        // What is in doubt may be shown as paid within seconds; if not, its next poll raises the alarm.
        if after.state == .failed { try await raiseIfCollectedInDoubt(after) }
        guard after != payment else { return }
        try await raiseIfCollectedAnew(payment, by: [collection])
        try await recordEvent(.collected(collection), on: stored, cause: cause)
    }

    /// Records that a charge of an intent is under way. Belvo may show the intent as unsigned all the same: from then
    /// on the payment keeps its reference until Belvo has closed it.
    func noteUnderWay(_ intent: UUID, cause: Cause) async throws {
        guard let stored = try await dependencies.store.payment(belvoID: intent),
            try stored.record.transition(on: .chargeUnderWay) != stored.record
        else { return }
        try await recordEvent(.chargeUnderWay, on: stored, cause: cause)
    }

    /// Raises the alarm where these transfers, or those that are known to have collected money, are more than the one
    /// that has paid: several of one that Belvo has not called paid yet are as wrong.
    func raiseIfPaidTwice(_ payment: Payment, by transfers: [EndToEndID?]) async throws {
        let known = payment.collectedBy.sorted().compactMap { EndToEndID($0) }
        guard payment.state == .succeeded else {
            for further in known.dropFirst() {
                try await raiseOnce(.doublePaid, of: payment, "collected by \(further), too")
            }
            return
        }
        let all = Set(known + transfers.compactMap(\.self))
        // A foreign payment may be paid without a transfer that Belvo names: the first of several is as good.
        guard let paying = payment.facts.endToEndID ?? all.min(by: { $0.description < $1.description }) else { return }
        for further in all.subtracting([paying]) {
            // The two were an alarm before it was paid, of which an operator has settled the one that named the other.
            if known.contains(paying), known.contains(further),
                try await dependencies.store.hasSettled(.doublePaid, of: payment.id)
            {
                continue
            }
            try await raiseOnce(.doublePaid, of: payment, "paid by transfer \(further), too")
        }
    }

    /// Raises the alarm where a charge has brought another amount than the payment's, or one that cannot be read.
    private func raiseIfOtherAmount(_ payment: Payment, by collections: [Payment.Collection]) async throws {
        for collection in collections {
            guard let brought = collection.otherAmount(than: payment.amount) else { continue }
            try await raiseBesideTerms(payment, "\(brought) collected by \(collection.names.joined(separator: " "))")
        }
    }

    /// Raises the alarm that other money has come than was asked for; the shop gets an event where it has asked.
    private func raiseBesideTerms(_ payment: Payment, _ detail: String) async throws {
        try await raiseOnce(payment.isPricedByOrder ? .paidBesideOrder : .differs, of: payment, detail)
    }

    /// Raises an alarm about a payment, once for each such thing that is found.
    func raiseOnce(_ kind: MoneyAlarm.Kind, of payment: Payment, _ detail: String) async throws {
        guard try await dependencies.store.raiseOnce(kind, of: payment.id, detail) else { return }
        logRaised(kind, of: payment, detail)
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
        logRaised(kind, of: payment, detail)
    }

    private func logRaised(_ kind: MoneyAlarm.Kind, of payment: Payment, _ detail: String) {
        dependencies.log.critical(
            "payment.\(kind.rawValue)", metadata: ["payment_id": "\(payment.id)", "detail": "\(detail)"])
    }

    func fresh(_ stored: Stored<Payment>) async throws -> Stored<Payment>? {
        try await dependencies.store.payment(stored.record.id)
    }

    /// A status before the end, read before Belvo's last status was recorded, takes nothing back.
    func isLate(_ event: Payment.Event, for payment: Payment) -> Bool {
        guard case .reported(let report) = event else { return false }
        return report.status.end == nil && payment.isLastStatusTakenBack(by: report)
    }

    /// Applies an event to the freshest state.
    @discardableResult
    func recordEvent(_ event: Payment.Event, on stored: Stored<Payment>, cause: Cause) async throws -> Stored<Payment> {
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
            if try await releaseTransfer(to: next, cause: cause) {
                return try await write(next, over: stored, event: event, cause: cause, settling: settling)
            }
            // An end-to-end id names one transfer: the first payment keeps it, and this report is rejected with an
            // alarm.
            try await raise(
                .endToEndIDRepeated, of: next, next.facts.endToEndID.map { "\($0) is another payment's" } ?? "")
            return try await write(
                next.withoutRepeatedEndToEndID(before: stored.record), over: stored, event: event, cause: cause,
                settling: settling)
        }
    }

    /// Announces a change to requests that wait for it, and logs a change of state and the alarms that the transaction
    /// has raised.
    private func publish(_ written: Stored<Payment>, after stored: Stored<Payment>, cause: Cause) async throws {
        if written.record != stored.record { dependencies.changes.announce(written.record.id) }
        let hasArrived = written.record.state == .succeeded && stored.record.state != .succeeded
        let goesOn =
            written.record.contradiction != nil && written.record.providerStatus != stored.record.providerStatus
        if hasArrived || goesOn || (written.record.contradiction != nil) != (stored.record.contradiction != nil) {
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

    /// Logs the open alarms of a payment, which the transaction that recorded the money has raised.
    func logAlarms(of payment: Payment.ID) async throws {
        for alarm in try await dependencies.store.openAlarms(of: payment) {
            dependencies.log.critical(
                "payment.\(alarm.kind.rawValue)",
                metadata: ["payment_id": "\(payment)", "detail": "\(alarm.detail)"])
        }
    }

    func plan(_ next: Payment, over stored: Stored<Payment>) -> PollPlan {
        guard next.status == .pending || next.mayBelvoStillPay else { return .entered(nil) }
        let moment = stored.clock.now
        // A record that was at its end and is open again has a time of its own, from which on it is polled ever less
        // often.
        guard next.state == stored.record.state, stored.deadline != nil else {
            return .entered(schedule(of: next, created: moment - stored.record.createdAt))
        }
        // What was due long ago is polled ever less often, whatever keeps it open; but not where an operator waits.
        if stored.isOverdue, next.contradiction?.isSettled != true, let deadline = stored.deadline {
            return .goesOn(
                nextPoll: dependencies.timeouts.overduePollInterval(overdue: moment - deadline), deadline: deadline)
        }
        let timeouts = dependencies.timeouts
        let waitsForUser = next.state == .awaitingSignature && !next.isMaybeSigned
        let rest =
            waitsForUser
            ? stored.deadline.map { $0 - moment }
            : next.isCreating ? timeouts.creationPollInterval(age: stored.creationAge(timeouts)) : nil
        let plan = PollPlan.goesOn(nextPoll: max(rest ?? .zero, timeouts.pollInterval), deadline: stored.deadline)
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

import Belvo
import BelvoGate
import Logging
import MerchantModel
import MerchantStore
import Payments
import Transport

extension Dependencies {
    /// For how long after a claim polls may begin.
    var workWindow: Duration { .seconds(5) }

    /// For how long a record is claimed: a poll is one or two calls, and a worker that holds a record for longer
    /// has died.
    var workLease: Duration { timeouts.callDeadline * 2 + workWindow }

    /// In which of the tables something may be due, or was handed over to the worker of this server, which asks this.
    package func dueTables(among tables: [DueTable]) async throws -> Set<DueTable> {
        let isHanded = tables.contains(.webhookReceipts) && webhookIntake.attend(at: store.monotonic())
        var (due, clock) = try await store.dueTables(among: tables)
        let recorded = clockWatch.isNew ? try await store.latestChange() : nil
        if let behind = clockWatch.note(clock, recorded: recorded) {
            log.warning("database.clock_went_back", metadata: ["by": "\(behind)"])
            try await store.bringForward(tables, leases: workLease)
            due = Set(tables)
        }
        return isHanded ? due.union([.webhookReceipts]) : due
    }

    /// From now on webhooks that come are due for every server: the worker of this one is about to end.
    package func closeWebhookIntake() { webhookIntake.close() }

    /// Makes what was handed over to the worker of this server, which has ended, due for every server.
    package func giveBackWebhooks() async {
        let handed = webhookIntake.take(limit: .max)
        guard !handed.isEmpty else { return }
        let due = handed.map { Reschedule(id: $0.receipt.record.id, version: $0.receipt.version, wait: .zero) }
        do {
            try await store.reschedule(due, in: .webhookReceipts)
        } catch {
            // Their lease ends by itself.
            log.warning("webhooks.not_given_back", metadata: ["count": "\(handed.count)", "reason": "\(error)"])
        }
    }

    /// Everything that polls records by itself.
    package var workers: [any DueWorker] {
        let (window, lease) = (workWindow, workLease)
        return [
            Poller<Customer>(
                name: "customers", table: .customers, limit: 64, width: 8, log: log, gate: gate, window: window,
                claim: { try await store.claimDueCustomers(limit: $0, lease: lease) },
                poll: { try await CustomerWorkflow(dependencies: self).poll($0) },
                reschedule: { try await store.reschedule($0, in: .customers) }, id: { $0.id.uuid },
                owner: { $0.subject }),
            redirects(
                named: "redirects", in: .redirectReceipts, limit: 64, width: 8, passesMax: 4, window: window,
                lease: lease),
            // Few at a time: the sender who has the next turn waits for the end of a pass.
            redirects(
                named: "unknown_redirects", in: .unknownRedirects, limit: 8, width: 4, passesMax: 1, window: window,
                lease: lease),
            WebhookWorker(of: .handed, dependencies: self, lease: lease, window: window),
            WebhookWorker(of: .stored, dependencies: self, lease: lease, window: window),
            Poller<Enrollment>(
                name: "enrollments", table: .enrollments, limit: 128, width: 16, log: log, gate: gate, callsOfPoll: 2,
                hasTurns: { gate.hasTurns(for: .readEnrollment) }, window: window,
                claim: { try await store.claimDueEnrollments(limit: $0, lease: lease) },
                poll: { try await EnrollmentWorkflow(dependencies: self).poll($0) },
                reschedule: { try await store.reschedule($0, in: .enrollments) }, id: { $0.id.uuid },
                // Whose step is the latest comes first: of the others many may wait for long.
                turn: { $0.record.isCreating ? .max : ($0.clock.now - $0.updatedAt).wholeNanoseconds },
                owner: { $0.subject }, institution: { $0.institution.id }),
            PaymentPoller(
                dependencies: self, polling: listPolling,
                poller: Poller<Payment>(
                    name: "payments", table: .payments, limit: 128, width: 16, log: log, gate: gate, window: window,
                    claim: { try await store.claimDuePayments(limit: $0, lease: lease) },
                    poll: { try await PaymentWorkflow(dependencies: self).poll($0) },
                    reschedule: { try await store.reschedule($0, in: .payments) }, id: { $0.id.uuid },
                    turn: { $0.record.isCreating ? 1 : 0 }, owner: { $0.subject }, institution: { $0.institution })),
            Poller<MoneyAlarm>(
                name: "money_alarms", table: .moneyAlarms, limit: 64, width: 4, log: log, gate: nil, window: window,
                claim: { try await store.claimDueAlarms(limit: $0, lease: lease) },
                poll: {
                    try await emitDispute(of: $0)
                    return .recorded
                },
                reschedule: { try await store.reschedule($0, in: .moneyAlarms) }, id: { $0.id }),
        ]
    }

    private func redirects(
        named name: String, in table: DueTable, limit: Int, width: Int, passesMax: Int, window: Duration,
        lease: Duration
    ) -> Poller<RedirectReceipt> {
        Poller<RedirectReceipt>(
            name: name, table: table, limit: limit, width: width, passesMax: passesMax, log: log, gate: gate,
            window: window, claim: { try await store.claimDueReceipts(in: table, limit: $0, lease: lease) },
            poll: { try await RedirectionWorkflow(dependencies: self).process($0) },
            reschedule: { try await store.reschedule($0, in: table) }, id: { $0.id }, turn: { $0.record.turn })
    }

    /// Writes the shop's event about a disputed order, where there is one and the shop wants events.
    private func emitDispute(of alarm: Stored<MoneyAlarm>) async throws {
        guard policy.emitsShopEvents, let order = try await store.disputedOrder(of: alarm.record.payment) else {
            return try await store.noteHandled(alarm)
        }
        let event = ShopEvent(
            disputed: order, by: alarm.record.payment, at: alarm.clock.now, id: identities.next())
        try await store.noteHandled(alarm, disputing: order, emitting: event)
    }
}

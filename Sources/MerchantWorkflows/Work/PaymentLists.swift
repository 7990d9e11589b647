import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments
import Transport

/// Polls payments: when more than a handful are due, by Belvo's list of intents, whose page shows hundreds; and one
/// by one what no list has shown.
///
/// A list is evidence of what it shows, and of nothing else. What it shows undecided, as it is known here, need not be
/// read until the next interval. Whatever else it shows, and what it does not show, is read by itself: a list leads to
/// a reading and ends no payment. Money that it shows, and the next reading does not, keeps the payment's reference.
struct PaymentPoller: DueWorker {
    let name = "payments"
    let table = DueTable.payments
    var passesMax: Int { poller.passesMax }
    let dependencies: Dependencies
    let polling: ListPolling
    /// Reads one by one.
    let poller: Poller<Payment>

    func runOnce() async throws -> Pass {
        guard let listed = try await takeList() else { return Pass() }
        try await holdShownMoney()
        async let sampled: Void = sample(listed.quiet)
        var pass = try await poller.runOnce()
        try await sampled
        pass.examined += listed.count
        return pass
    }

    /// The payments that a list has shown.
    private struct Listed {
        var count = 0
        /// The ones that it shows undecided, as they are known here.
        var quiet: [UUID] = []
    }

    /// Asks for a list, where one helps; nil while another pass takes one, which may show what is due.
    private func takeList() async throws -> Listed? {
        guard memory.beginList() else { return nil }
        defer { memory.endList() }
        do {
            return try await pollByList()
        } catch BelvoError.unreachable {
            // No list was asked for: our own budget was used up, or nothing could be sent. The next pass asks.
            return Listed()
        } catch let error as BelvoError {
            memory.noteUnreadable(at: now, pauseMin: interval, pauseMax: polling.mistrust)
            dependencies.log.notice("payments.list_unreadable", metadata: ["reason": "\(error)"])
            return Listed()
        }
    }

    private var memory: ListMemory { dependencies.listMemory }
    private var now: Monotonic { dependencies.gate.now() }
    private var interval: Duration { dependencies.timeouts.pollInterval }

    private func pollByList() async throws -> Listed {
        guard !dependencies.gate.isShut, memory.isTrusted(at: now) else { return Listed() }
        // Those that will be due within half an interval come along: a page more costs less than another list.
        let ahead = memory.wasUsed ? interval / 2 : .zero
        guard let span = try await dependencies.store.listedPayments(dueWithin: ahead), span.count >= polling.countMin
        else {
            memory.wasUsed = false
            return Listed()
        }
        memory.wasUsed = true
        // Belvo's clock need not be ours; and a creation takes its time.
        let pages = 4 + 3 * span.count / dependencies.belvo.glimpsePageSize
        let (begin, timeMax) = (now, polling.timeMax(count: span.count, interval: interval))
        let shown = try await CallOrigin.$current.withValue(.aboutMany) {
            try await dependencies.belvo.within(timeMax).glimpsePaymentIntents(
                createdFrom: (min(span.begin, memory.decidedBegin ?? span.begin) + .seconds(-5)).description,
                to: (span.end + .seconds(60)).description,
                pagesMax: pages)
        }
        let elapsed = now - begin
        memory.noteReadable()
        if let late = memory.noteShown(shown.map { ($0.id.uuid, $0.isDecided) }, asked: begin) {
            memory.mistrust(until: now + polling.mistrust)
            dependencies.log.notice("payments.list_lags", metadata: ["belvo_id": "\(late.uuidString.lowercased())"])
            return Listed()
        }
        let told = try await take(shown, ahead: ahead)
        if let fault = polling.fault(due: span.count, told: told.count, elapsed: elapsed, timeMax: timeMax) {
            memory.mistrust(until: now + polling.mistrust)
            dependencies.log.notice(
                "\(fault.rawValue)", metadata: ["due": "\(span.count)", "shown": "\(told.count)"])
        }
        return told
    }

    /// Takes what a list shows. What it shows changed stays due.
    private func take(_ shown: [Belvo.PaymentIntent], ahead: Duration) async throws -> Listed {
        var quiet: [UUID] = []
        var changed = 0
        // An intent may come twice, because the order changed between two pages: what came later counts.
        var latest: [UUID: Belvo.PaymentIntent] = [:]
        for intent in shown { latest[intent.id.uuid] = intent }
        let payments = PaymentWorkflow(dependencies: dependencies)
        let paid = shown.filter { payments.report($0).mayHavePaid }.map(\.id.uuid)
        // A list also shows those that were paid here long ago.
        memory.notePaid(try await dependencies.store.unpaidIntents(among: paid).map(\.id), at: now)
        var rest = shown[...]
        while !rest.isEmpty {
            let page = rest.prefix(1_000).compactMap { latest.removeValue(forKey: $0.id.uuid) }.map(ShownIntent.init)
            rest = rest.dropFirst(1_000)
            quiet += try await dependencies.store.putOff(
                shown: page, dueWithin: ahead, by: interval,
                inDoubtBy: dependencies.timeouts.overduePollInterval(overdue: .zero))
            changed += try await dependencies.store.countChanged(among: page, dueWithin: ahead)
        }
        return Listed(count: quiet.count + changed, quiet: quiet)
    }

    /// Keeps the references of payments that have failed here, be it by another server, and of which a list has shown
    /// money within the last seconds.
    private func holdShownMoney() async throws {
        let unpaid = try await dependencies.store.unpaidIntents(among: memory.paidIntents(at: now))
        for intent in unpaid where intent.hasFailed {
            try await PaymentWorkflow(dependencies: dependencies)
                .holdMoney(shownOf: Belvo.PaymentIntent.ID(intent.id), byList: true)
        }
    }

    /// Reads a payment by itself. No worker has claimed it: of two that read it one writes.
    private func read(_ stored: Stored<Payment>) async throws {
        try await Trace.$current.withValue(RequestID.made()) {
            let outcome = try await PaymentWorkflow(dependencies: dependencies).poll(stored)
            guard case .unchanged(let wait) = outcome else { return }
            try await dependencies.store.reschedule(
                [Reschedule(id: stored.record.id.uuid, version: stored.version, wait: wait)], in: .payments)
        }
    }

    /// Reads a few of those that the list shows undecided, in turn. One that has been decided may have been so since
    /// the list was made: the next list says. Belvo may be slow to show one of them: the next lists come without
    /// samples until it has.
    private func sample(_ quiet: [UUID]) async throws {
        guard !quiet.isEmpty, memory.beginSamples() else { return }
        defer { memory.endSamples() }
        for id in memory.next(polling.samples, of: quiet) {
            guard let stored = try await dependencies.store.payment(Payment.ID(id)), stored.record.status == .pending
            else { continue }
            try await read(stored)
            guard let seen = try await dependencies.store.payment(Payment.ID(id)), seen.record.status != .pending
            else { continue }
            guard let intent = seen.record.belvoID else { continue }
            memory.noteDecided(intent, created: seen.record.createdAt, at: now)
        }
    }
}

extension Belvo.PaymentIntent {
    fileprivate var isDecided: Bool { ProviderStatus(status).end != nil }
}

extension ShownIntent {
    fileprivate init(_ intent: Belvo.PaymentIntent) {
        self.init(
            id: intent.id.uuid, word: intent.status.word, externalID: intent.externalID ?? "",
            centavos: intent.amountCentavos ?? -1, customer: intent.customer?.uuid ?? Self.noCustomer)
    }
}

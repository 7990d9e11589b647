import BelvoGate
import FoundationEssentials
import MerchantModel
import MerchantStore
import Payments
import Transport

/// Works on the webhooks that wait: those that lead to one object are settled together, by one reading of it, and all
/// of a pass by one statement.
///
/// There are two of them. One takes what was handed over by the intake of this server: webhooks of what is known here,
/// as they come. The other takes what waits in the database, and may be invented: it has few passes, and a line of its
/// own before Belvo.
///
/// Three webhooks name a payment's end, for its intent, its charge and its transaction. The intent is read; the other
/// two belong to it, or repeat what is known by then. Only a movement that leads to no payment here is read itself.
struct WebhookWorker: DueWorker {
    enum Source { case handed, stored }

    let source: Source
    let table = DueTable.webhookReceipts
    let dependencies: Dependencies
    let lease: Duration
    /// For how long after the claim readings may begin, so that each ends before the lease does.
    let window: Duration
    private let batchSizer = BatchSizer(max: 128, min: 16)
    /// How long a webhook rests whose reading had no turn at the gate: it was not worked on in vain.
    private static let pauseOfKept = Duration.seconds(1)

    var name: String { source == .handed ? "webhooks" : "stored_webhooks" }
    var passesMax: Int { source == .handed ? 4 : 2 }

    init(of source: Source, dependencies: Dependencies, lease: Duration, window: Duration) {
        self.source = source
        self.dependencies = dependencies
        self.lease = lease
        self.window = window
    }

    func runOnce() async throws -> Pass {
        let isShut = dependencies.gate.isShut
        let limit = dependencies.gate.pollsMax(of: batchSizer.limit)
        let begin = Monotonic.now()
        let (taken, origin) =
            switch source {
            case .handed: (try await takeHanded(limit: limit), CallOrigin.webhooks)
            case .stored:
                (try await dependencies.store.claimDueWebhooks(limit: limit, lease: lease), .storedWebhooks)
            }
        let waiting = taken.sorted { $0.record.id < $1.record.id }
        guard !waiting.isEmpty else { return Pass() }
        var work = WebhookPass(
            waiting, for: WebhookWorkflow(dependencies: dependencies, origin: origin), until: begin + window)
        try await work.run()
        batchSizer.note(begun: waiting.count - work.left.count, left: work.left.count)
        try await dependencies.store.settle(work.settlements)
        // Belvo is slow, or has no turns for us: another instance may take them, or this one when Belvo is faster.
        let reschedules = work.left.map { receipt in
            let wait = work.kept.contains(receipt.record.id) ? Self.pauseOfKept : .zero
            return Reschedule(id: receipt.record.id, version: receipt.version, wait: wait)
        }
        if !reschedules.isEmpty { try await dependencies.store.reschedule(reschedules, in: .webhookReceipts) }
        return Pass(
            examined: waiting.count - work.left.count, failed: work.interrupted,
            wasFull: waiting.count == limit && !isShut)
    }
}

extension WebhookWorker {
    /// Webhooks that were stored as claimed by this server. One that has waited for so long that its lease might end
    /// before its reading becomes due for every server.
    private func takeHanded(limit: Int) async throws -> [Stored<WebhookReceipt>] {
        let now = dependencies.store.monotonic()
        var (fresh, late): ([Stored<WebhookReceipt>], [Reschedule]) = ([], [])
        for one in dependencies.webhookIntake.take(limit: limit) {
            if now - one.since < window {
                fresh.append(one.receipt)
            } else {
                late.append(Reschedule(id: one.receipt.record.id, version: one.receipt.version, wait: .zero))
            }
        }
        if !late.isEmpty { try await dependencies.store.reschedule(late, in: .webhookReceipts) }
        return fresh
    }
}

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
        let reschedules = work.left.map { Reschedule(id: $0.record.id, version: $0.version, wait: .zero) }
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

/// The state of one pass over the webhooks that it has claimed.
private struct WebhookPass {
    private let workflow: WebhookWorkflow
    private let end: Monotonic
    /// Webhooks of which nothing is known yet.
    private(set) var left: [Stored<WebhookReceipt>]
    private(set) var settlements: [WebhookSettlement] = []
    private(set) var interrupted = 0
    private var readings: [WebhookWorkflow.Target: WebhookWorkflow.Reading] = [:]
    /// The owners of the objects that are read, as far as they are known here.
    private var owners: [UUID: Store.ObjectOwner] = [:]

    init(_ waiting: [Stored<WebhookReceipt>], for workflow: WebhookWorkflow, until end: Monotonic) {
        left = waiting
        self.workflow = workflow
        self.end = end
    }

    mutating func run() async throws {
        settle { $0.record.kind == nil || $0.record.object == nil ? .ignored : nil }
        try await settleRepetitions()
        let named = left.map(\.record.target)
        try await read(zip(left, named).compactMap { receipt, target in target.map { ($0, receipt) } })
        for (receipt, target) in zip(left, named) {
            guard let target, let reading = readings[target] else { continue }
            // An intent that a movement's webhook only named may be false, and what is paid may be paid once more, or
            // be shown as unpaid, now or later: the movement itself is read, unless it repeats what is known by then.
            // So is a charge that has failed, as its webhook says, while its intent is paid.
            if receipt.record.isOfMovement,
                !reading.hasFoundOurs || receipt.record.mayTellOfPayment
                    || reading.shows.map(receipt.record.isAhead) ?? false
            {
                continue
            }
            settle(receipt, after: reading)
        }
        guard left.contains(where: \.record.isOfMovement) else { return }
        if !readings.isEmpty { try await settleRepetitions() }
        try await followMovements()
    }

    /// Reads the charges and transactions that are left, and then what they belong to.
    private mutating func followMovements() async throws {
        var found: [(Stored<WebhookReceipt>, WebhookWorkflow.Movement)] = []
        var known: [UUID: WebhookWorkflow.Movement] = [:]
        let movements = left.filter(\.record.isOfMovement)
        var asked: [AskedMovement] = []
        for receipt in movements {
            guard let kind = receipt.record.kind, let object = receipt.record.object else { continue }
            asked.append(AskedMovement(kind: kind, object: object, intent: receipt.record.statement.intent))
        }
        try await findOwners(of: asked.compactMap(\.intent))
        let answers: [(UUID, WebhookWorkflow.Movement)] = await gathered(firsts(asked)) {
            [workflow, owners] movement in
            let owner = movement.intent.flatMap { owners[$0] }
            return (movement.object, await workflow.readMovement(movement.object, movement.kind, of: owner))
        }
        for (id, movement) in answers { known[id] = movement }
        for receipt in movements {
            if let movement = receipt.record.object.flatMap({ known[$0] }) { found.append((receipt, movement)) }
        }
        let targets = found.compactMap { receipt, movement -> (WebhookWorkflow.Target, Stored<WebhookReceipt>)? in
            guard case .belongs(let intent, _) = movement else { return nil }
            return (WebhookWorkflow.Target(kind: .intent, id: intent), receipt)
        }
        // Before anything else is read, which may take long: its webhook keeps the intent's reference from now on.
        for (target, receipt) in targets {
            try await workflow.dependencies.store.note(receipt, isOf: target.id)
        }
        try await read(targets)
        for (receipt, movement) in found {
            switch movement {
            case .ends(let reading): settle(receipt, after: reading)
            case .belongs(let intent, let collected):
                guard let reading = readings[.init(kind: .intent, id: intent)] else { continue }
                let noted = await workflow.noting(
                    receipt.record, collected: collected, for: intent, after: reading)
                settle(receipt, after: noted, intent: intent)
            }
        }
    }

    /// Settles the movements' webhooks that only repeat what is known of a closed payment.
    private mutating func settleRepetitions() async throws {
        let told = left.filter(\.record.isOfMovement).map(\.record.statement)
        let (intents, transfers) = (told.compactMap(\.intent), told.compactMap(\.endToEndID))
        guard !intents.isEmpty || !transfers.isEmpty else { return }
        let known = try await workflow.dependencies.store.payments(knownBy: intents, orByTransfers: transfers)
        settle { receipt in
            guard let kind = receipt.record.kind else { return nil }
            return known.contains { receipt.record.statement.onlyRepeats($0.record, as: kind) } ? .done : nil
        }
    }

    /// Reads each target that was not read in this pass: all webhooks here came before. With each comes a webhook that
    /// names it.
    private mutating func read(_ targets: [(WebhookWorkflow.Target, Stored<WebhookReceipt>)]) async throws {
        let naming = Dictionary(grouping: targets, by: \.0).mapValues { $0.map(\.1) }
        let unread = firsts(targets.map(\.0).filter { readings[$0] == nil })
        try await findOwners(of: unread.map(\.id))
        let answers: [(WebhookWorkflow.Target, WebhookWorkflow.Reading)] = await gathered(unread) {
            [workflow, owners] target in
            let receipts = naming[target] ?? []
            let age = receipts.map(\.age).max() ?? .zero
            // What the server itself has to read says nothing.
            let lag = receipts.filter { $0.record.statement != WebhookStatement() }.map(\.record.lagAfterEnd).min()
            return (target, await workflow.read(target, of: owners[target.id], after: age, lag: lag ?? .zero))
        }
        for (target, reading) in answers { readings[target] = reading }
    }

    private mutating func findOwners(of objects: [UUID]) async throws {
        let unknown = firsts(objects.filter { owners[$0] == nil })
        guard !unknown.isEmpty else { return }
        owners.merge(try await workflow.dependencies.store.owners(ofObjects: unknown)) { known, _ in known }
    }

    private mutating func settle(
        _ receipt: Stored<WebhookReceipt>, after reading: WebhookWorkflow.Reading, intent: UUID? = nil
    ) {
        left.removeAll { $0.record.id == receipt.record.id }
        if let settlement = workflow.settlement(of: receipt, after: reading, intent: intent) {
            settlements.append(settlement)
        } else {
            interrupted += 1
        }
    }

    private mutating func settle(_ outcome: (Stored<WebhookReceipt>) -> WebhookReceipt.Outcome?) {
        left.removeAll { receipt in
            guard let outcome = outcome(receipt) else { return false }
            settlements.append(WebhookSettlement(of: receipt, outcome: outcome))
            return true
        }
    }

    /// The outcomes of readings, 32 at a time, since each mostly waits for Belvo. Those for which there was no
    /// time are missing.
    private func gathered<Item: Sendable, Key: Sendable, Value: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async -> (Key, Value)
    ) async -> [(Key, Value)] {
        let traced = { @Sendable (item: Item) in
            await Trace.$current.withValue(RequestID.made()) { await body(item) }
        }
        return await withTaskGroup(of: (Key, Value).self) { group in
            var rest = items[...]
            var found: [(Key, Value)] = []
            for item in rest.prefix(32) { group.addTask { await traced(item) } }
            rest = rest.dropFirst(32)
            for await value in group {
                found.append(value)
                if Monotonic.now() < end, let next = rest.popFirst() { group.addTask { await traced(next) } }
            }
            return found
        }
    }

    /// Each once, in the order in which they came.
    private func firsts<Value: Hashable>(_ values: [Value]) -> [Value] {
        var seen: Set<Value> = []
        return values.filter { seen.insert($0).inserted }
    }
}

/// A charge or a transaction that is to be read.
private struct AskedMovement: Hashable, Sendable {
    let kind: WebhookKind
    let object: UUID
    /// The intent that its webhook names.
    let intent: UUID?
}

extension WebhookWorkflow.Reading {
    fileprivate var hasFoundOurs: Bool {
        if case .read(isOurs: true, _) = self { true } else { false }
    }

    /// The status that Belvo shows; nil where none was read.
    fileprivate var shows: ProviderStatus? {
        if case .read(_, let shown) = self { shown } else { nil }
    }
}

extension Stored<WebhookReceipt> {
    /// For how long it has waited.
    fileprivate var age: Duration { clock.now - record.lastReceivedAt }
}

extension WebhookReceipt {
    /// Nil for a type that means nothing here.
    fileprivate var kind: WebhookKind? { WebhookKind(rawValue: type) }

    fileprivate var isOfMovement: Bool { kind == .charges || kind == .transactions }

    /// The object whose reading settles it, as far as it names one.
    fileprivate var target: WebhookWorkflow.Target? {
        switch kind {
        case .enrollments: object.map { .init(kind: .enrollment, id: $0) }
        case .paymentIntents: object.map { .init(kind: .intent, id: $0) }
        case .names: object.map { .init(kind: .name, id: $0) }
        case .charges, .transactions: statement.intent.map { .init(kind: .intent, id: $0) }
        case nil: nil
        }
    }
}

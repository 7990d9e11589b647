import Belvo
import BelvoGate
import FoundationEssentials
import MerchantModel
import MerchantStore
import Payments
import Transport

/// The state of one pass of a `WebhookWorker` over the webhooks that it has claimed.
struct WebhookPass {
    private let workflow: WebhookWorkflow
    private let end: Monotonic
    /// Webhooks of which nothing is known yet.
    private(set) var left: [Stored<WebhookReceipt>]
    private(set) var settlements: [WebhookSettlement] = []
    private(set) var interrupted = 0
    /// Webhooks among those that are left whose reading had no turn at the gate.
    private(set) var kept: Set<UUID> = []
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

    /// Reads the charges and transactions that are left, and each one's intent as soon as that is known: one that Belvo
    /// is slow to show keeps no other waiting.
    private mutating func followMovements() async throws {
        var receipts: [AskedMovement: [Stored<WebhookReceipt>]] = [:]
        var asked: [AskedMovement] = []
        for receipt in left where receipt.record.isOfMovement {
            guard let movement = AskedMovement(receipt.record) else { continue }
            asked.append(movement)
            receipts[movement, default: []].append(receipt)
        }
        try await findOwners(of: asked.compactMap(\.intent))
        for found in await followed(firsts(asked), of: receipts) {
            settle(found.receipt, after: found.reading, intent: found.intent)
        }
    }

    /// The outcomes of the movements' webhooks, 32 readings of movements at a time. Those for which there was no time
    /// are missing.
    private func followed(
        _ asked: [AskedMovement], of receipts: [AskedMovement: [Stored<WebhookReceipt>]]
    ) async -> [FollowedMovement] {
        await withTaskGroup(of: MovementStep.self) { group in
            var (rest, intents, found) = (asked[...], IntentsOfMovements(readings), [FollowedMovement]())
            func readNext(in group: inout TaskGroup<MovementStep>) {
                guard let movement = rest.popFirst() else { return }
                let (owner, receipts) = (movement.intent.flatMap { owners[$0] }, receipts[movement, default: []])
                group.addTask { [workflow] in
                    let seen = await Trace.$current.withValue(RequestID.made()) {
                        await workflow.readMovement(movement.object, movement.kind, of: owner, noting: receipts)
                    }
                    return .movement(receipts, seen)
                }
            }
            for _ in 0..<32 { readNext(in: &group) }
            for await step in group {
                let intent: UUID?
                switch step {
                case .movement(let receipts, .ends(let reading)):
                    found += receipts.map { FollowedMovement(receipt: $0, reading: reading) }
                    intent = nil
                case .movement(let receipts, .belongs(let belongsTo, let collected)):
                    intents.add(receipts, collected, of: belongsTo)
                    intent = belongsTo
                case .intent(let readOf, let reading, let outcomes):
                    found += outcomes
                    intents.note(reading, of: readOf)
                    intent = readOf
                }
                if let work = intent.flatMap({ intents.take($0) }) {
                    group.addTask { [workflow] in
                        await Trace.$current.withValue(RequestID.made()) { await work.outcome(by: workflow) }
                    }
                }
                if case .movement = step, Monotonic.now() < end { readNext(in: &group) }
            }
            return found
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
            (target, await workflow.read(target, of: owners[target.id], by: naming[target] ?? []))
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
        // The gate had no turn, and will have one: that is no attempt.
        if case .failed(let error as BelvoError) = reading, error.hadNoTurn || error.hadNoShare {
            kept.insert(receipt.record.id)
            return
        }
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
    /// The intent that its webhook names, or that an earlier reading has shown.
    let intent: UUID?

    init?(_ receipt: WebhookReceipt) {
        guard let kind = receipt.kind, let object = receipt.object else { return nil }
        self.kind = kind
        self.object = object
        intent = receipt.statement.intent ?? receipt.externalID
    }
}

/// A step of reading movements that is done.
private enum MovementStep: Sendable {
    case movement([Stored<WebhookReceipt>], WebhookWorkflow.Movement)
    case intent(UUID, WebhookWorkflow.Reading, [FollowedMovement])
}

/// The outcome of reading a movement for its webhook.
private struct FollowedMovement: Sendable {
    let receipt: Stored<WebhookReceipt>
    let reading: WebhookWorkflow.Reading
    /// The intent that the movement was read to belong to.
    var intent: UUID?
}

/// The intents that movements were read to belong to: each is worked on by one task at a time, for all the webhooks
/// that have come to it by then.
private struct IntentsOfMovements {
    /// The webhooks that lead to one intent, with what each one's movement has collected.
    struct Work: Sendable {
        let intent: UUID
        var reading: WebhookWorkflow.Reading?
        var movements: [(receipt: Stored<WebhookReceipt>, collected: CollectedMoney)] = []

        func outcome(by workflow: WebhookWorkflow) async -> MovementStep {
            let receipts = movements.map(\.receipt)
            let target = WebhookWorkflow.Target(kind: .intent, id: intent)
            let reading =
                if let reading { reading } else { await workflow.read(target, named: receipts) }
            var outcomes: [FollowedMovement] = []
            for (receipt, collected) in movements {
                let noted = await workflow.noting(receipt, collected: collected, for: intent, after: reading)
                outcomes.append(FollowedMovement(receipt: receipt, reading: noted, intent: intent))
            }
            return .intent(intent, reading, outcomes)
        }
    }

    private var readings: [UUID: WebhookWorkflow.Reading] = [:]
    private var waiting: [UUID: Work] = [:]
    private var underWay: Set<UUID> = []

    init(_ readings: [WebhookWorkflow.Target: WebhookWorkflow.Reading]) {
        for (target, reading) in readings where target.kind == .intent { self.readings[target.id] = reading }
    }

    mutating func add(_ receipts: [Stored<WebhookReceipt>], _ collected: CollectedMoney, of intent: UUID) {
        waiting[intent, default: Work(intent: intent)].movements += receipts.map { ($0, collected) }
    }

    /// The work on the intent, where there is some and none is under way.
    mutating func take(_ intent: UUID) -> Work? {
        guard !underWay.contains(intent), var work = waiting.removeValue(forKey: intent) else { return nil }
        underWay.insert(intent)
        work.reading = readings[intent]
        return work
    }

    /// The work on the intent is done, which was read so.
    mutating func note(_ reading: WebhookWorkflow.Reading, of intent: UUID) {
        readings[intent] = reading
        underWay.remove(intent)
    }
}

extension WebhookWorkflow {
    /// Reads what these webhooks name, of an owner that is not known yet.
    fileprivate func read(_ target: Target, named receipts: [Stored<WebhookReceipt>]) async -> Reading {
        let owner = try? await dependencies.store.owners(ofObjects: [target.id])[target.id]
        return await read(target, of: owner, by: receipts)
    }

    /// Reads what these webhooks name.
    fileprivate func read(
        _ target: Target, of owner: Store.ObjectOwner?, by receipts: [Stored<WebhookReceipt>]
    ) async -> Reading {
        // What the server itself has to read says nothing.
        let lag = receipts.filter(\.record.isOfBelvo).map(\.record.lagAfterEnd).min()
        return await read(
            target, of: owner, after: receipts.map(\.age).max() ?? .zero, lag: lag ?? .zero,
            isAgain: !receipts.isEmpty && receipts.allSatisfy { $0.record.attempts > 0 })
    }
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

extension WebhookReceipt {
    /// Nil for a type that means nothing here.
    fileprivate var kind: WebhookKind? { WebhookKind(rawValue: type) }

    fileprivate var isOfMovement: Bool { kind?.isOfMovement ?? false }

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

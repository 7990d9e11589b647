import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// A workflow whose records are created at Belvo.
protocol CreationWorkflow: PolledWorkflow where Record: Creatable {
    /// Where the records are.
    var table: DueTable { get }
    /// Writes what an event has led to, and settles the key with it; nothing comes back when another writer was faster.
    func writeCreation(
        _ next: Record, over stored: Stored<Record>, after event: Record.Event, cause: Cause,
        settling: (Stored<Record>) -> IdempotencySettlement
    ) async throws -> Stored<Record>?
    /// Whether Belvo's refusal may be about an object that is there already, so that it has to be read.
    func mayBeThere(after error: BelvoError) -> Bool
    /// How such a refusal ends a record that Belvo then does not show; nil when that says nothing.
    func end(after error: BelvoError) -> (event: Record.Event, refusal: WorkflowRefusal)?
    /// Why Belvo refuses the creation.
    func reason(behind refusal: BelvoError, of record: Record, on context: CallContext) async -> RefusalReason
    /// Keeps that Belvo has another object for the record, which is not used.
    func noteTwin(_ id: UUID, of record: Record) async throws
}

extension CreationWorkflow {
    func mayBeThere(after error: BelvoError) -> Bool { false }
    func end(after error: BelvoError) -> (event: Record.Event, refusal: WorkflowRefusal)? { nil }

    func reason(behind refusal: BelvoError, of record: Record, on context: CallContext) async -> RefusalReason {
        .asBelvoSays
    }

    func noteTwin(_ id: UUID, of record: Record) async throws { logTwin(id, of: record) }

    func logTwin(_ id: UUID, of record: Record) {
        dependencies.log.error(
            "\(Record.noun).created_twice",
            metadata: ["\(Record.noun)_id": "\(record.ownID)", "belvo_id": "\(id)"])
    }

    /// Writes what Belvo's answer led to. Belvo giving two of our records the same id is a mix-up of Belvo's, of which
    /// nothing is believed.
    func refusingRepeatedID<Value>(of record: Record, _ write: () async throws -> Value) async throws -> Value {
        do {
            return try await write()
        } catch is BelvoIDRepeated {
            dependencies.log.critical(
                "\(Record.noun).belvo_id_repeated",
                metadata: [
                    "\(Record.noun)_id": "\(record.ownID)", "belvo_id": "\(record.belvoID.map { "\($0)" } ?? "")",
                ])
            throw BelvoError.malformedAnswer(reason: "the id is another \(Record.noun)'s")
        }
    }

    /// Reads Belvo once, and not for long, right after a call whose answer says nothing.
    func readOnce(_ record: Record) async -> RemoteState<Record.Event> {
        await readRemoteState(of: record, from: dependencies.belvo.within(dependencies.timeouts.readOnceDeadline))
    }
}

/// A record that is created at Belvo by one call, which moves no money.
protocol Creatable: Pollable {
    /// In names of log lines.
    static var noun: String { get }
    var ownID: UUID { get }
    var belvoID: UUID? { get }
    /// Whether it is not known yet what became of its creation.
    var isCreating: Bool { get }
    /// Whether its user still wants it.
    var isWanted: Bool { get }
    func creationSchedule(_ timeouts: Timeouts) -> Schedule
    static func notCreated(_ failure: Failure) -> Event
    static var creationUnknown: Event { get }
    /// The object that the event names.
    static func belvoID(in event: Event) -> UUID?
}

extension Stored where Record: Creatable {
    /// How long ago the creation was sent for the last time; of a record with no deadline, zero.
    func creationAge(_ timeouts: Timeouts) -> Duration {
        deadline.map { record.creationSchedule(timeouts).deadline - ($0 - clock.now) } ?? .zero
    }
}

/// Why Belvo refuses a creation. An idempotency key keeps the refusal only where Belvo's own words are the reason.
enum RefusalReason: Equatable {
    case asBelvoSays
    /// The app gets this reason.
    case other(WorkflowRefusal)
    /// The possible reason could not be read, or Belvo has not decided on the request.
    case unknown
}

/// The outcome of a creation.
struct CreationOutcome<Record: Sendable>: Sendable {
    let progress: Progress<Stored<Record>>
    /// Whether another writer has taken the record out of its creation: the key may have an answer by now, which is not
    /// this one.
    var isOvertaken = false
}

/// How a record that was remembered is created at Belvo: asked for, read where the answer says nothing, sent again
/// where Belvo shows it absent, recorded (reliability.md, promises 3 and 14).
///
/// Each sending has the same `external_id` and the same key. A second sender has claimed the row by the version
/// that it had before the reading, so that of several requests only one sends.
struct RemoteCreation<Workflow: CreationWorkflow>: Sendable {
    typealias Record = Workflow.Record

    let workflow: Workflow
    let context: CallContext
    /// The key under which the outcome is stored as the answer; nil where the request has none.
    var key: KeyedRequest<Record>?
    /// Sends the creation. What comes back is what Belvo's answer says; nothing where that is not enough.
    let send: @Sendable (Record, Belvo.Client) async throws -> Record.Event?

    /// Asks for what was remembered a moment ago.
    func begin(_ remembered: Stored<Record>) async throws -> CreationOutcome<Record> {
        let end = remembered.clock.now + timeouts.askingDeadline
        var failure: BelvoError?
        do {
            if let event = try await send(remembered.record, dependencies.belvo) {
                return try await recordEvent(event, on: remembered)
            }
        } catch let error as BelvoError {
            if !workflow.mayBeThere(after: error), !error.mayHaveTakenEffect {
                let reason =
                    error.refusal == nil
                    ? RefusalReason.unknown
                    : await workflow.reason(behind: error, of: remembered.record, on: context)
                let refused = try await apply(
                    Record.notCreated(
                        error.refusal.map(Failure.refused) ?? (error.wasNotSent ? .notSent : .notLetIn)),
                    to: remembered
                ) { _ in (reason == .asBelvoSays ? key?.answered(error) : key?.released) ?? .unchanged }
                if refused.isOvertaken { return refused }
                if case .other(let reason) = reason { throw reason }
                throw error
            }
            failure = error
            dependencies.log.warning(
                "\(Record.noun).outcome_unknown", metadata: ["\(Record.noun)_id": "\(remembered.record.ownID)"])
        }
        switch await workflow.readOnce(remembered.record) {
        case .event(let found): return try await recordEvent(found, on: remembered)
        case .absent:
            if let failure, let end = workflow.end(after: failure) {
                let refused = try await apply(end.event, to: remembered) { _ in key?.answered(failure) ?? .unchanged }
                if refused.isOvertaken { return refused }
                throw end.refusal
            }
            guard let claimed = try await claim(remembered, isClaimed: true, until: end) else { break }
            return try await sendAgain(claimed, after: remembered, until: end, isFirstRequest: true)
        case .unreadable: break
        }
        return try await leaveUnknown(remembered)
    }

    /// Continues for an app that repeats its request, with the same body, while the outcome is unknown.
    func resume(_ known: Stored<Record>) async throws -> CreationOutcome<Record> {
        let pending = CreationOutcome(progress: .pending(known))
        guard known.record.isCreating, known.record.isWanted else { return pending }
        let end = known.clock.now + timeouts.askingDeadline
        let remote = await workflow.readOnce(known.record)
        if known.isOverdue, let timeoutEvent = workflow.timeoutEvent(of: known.record, after: remote) {
            // Late writes lose, as those of workers do: it may have been sent again meanwhile.
            let next = try known.record.transition(on: timeoutEvent)
            return try await workflow.write(next, over: known, after: timeoutEvent, causedBy: context.cause)
                .map { CreationOutcome(progress: .done($0)) } ?? pending
        }
        switch remote {
        case .event(let found): return try await recordEvent(found, on: known)
        case .absent:
            // Another request has it and sends it; or it is being polled, and the app asks again.
            guard let claimed = try await claim(known, isClaimed: false, until: end) else { return pending }
            return try await sendAgain(claimed, after: known, until: end)
        case .unreadable: return pending
        }
    }

    /// Sends what Belvo did not show. What Belvo says of this sending says nothing about the first, which may still
    /// arrive: a refusal is followed by a reading, and ends nothing. Unless another reading shows why nothing can be
    /// created any more, and no answer has named the record yet.
    private func sendAgain(
        _ claimed: Stored<Record>, after before: Stored<Record>, until end: Timestamp, isFirstRequest: Bool = false
    ) async throws -> CreationOutcome<Record> {
        var claimed = claimed
        var refusal: BelvoError?
        do {
            let limit = end - claimed.clock.now - timeouts.readOnceDeadline
            // Else many who wait for the end of an outage would all look for theirs before any makes one.
            let sent = try await CallOrigin.continuing { [claimed] in
                try await send(claimed.record, dependencies.belvo.within(limit))
            }
            if let event = sent {
                return try await recordEvent(event, on: claimed)
            }
        } catch let error as BelvoError {
            dependencies.log.warning(
                "\(Record.noun).sent_again_in_vain",
                metadata: ["\(Record.noun)_id": "\(claimed.record.ownID)", "reason": "\(error)"])
            if error.saysNoEffect { return try await leaveUnknown(claimed) }
            // What is refused will not arrive later: the deadline of the sending before stays.
            if error.refusal != nil {
                claimed.deadline = before.deadline
                refusal = error
            }
        }
        switch await workflow.readOnce(claimed.record) {
        case .event(let found): return try await recordEvent(found, on: claimed)
        case .absent:
            guard isFirstRequest, let refusal, let content = refusal.refusal,
                case .other(let reason) = await workflow.reason(behind: refusal, of: claimed.record, on: context)
            else { break }
            let ended = try await apply(Record.notCreated(.refused(content)), to: claimed) { _ in
                key?.released ?? .unchanged
            }
            if ended.isOvertaken { return ended }
            throw reason
        case .unreadable: break
        }
        return try await leaveUnknown(claimed)
    }

    /// The row for a second sending; nothing where there is no time for it, or another writer was faster.
    private func claim(_ stored: Stored<Record>, isClaimed: Bool, until end: Timestamp) async throws -> Stored<Record>?
    {
        guard stored.clock.now + timeouts.readOnceDeadline < end else { return nil }
        let schedule = stored.record.creationSchedule(timeouts)
        return try await dependencies.store.claimSending(
            stored, id: stored.record.ownID, in: workflow.table, isClaimed: isClaimed, firstPoll: schedule.firstPoll,
            deadline: schedule.deadline)
    }

    private func recordEvent(_ event: Record.Event, on stored: Stored<Record>) async throws -> CreationOutcome<Record> {
        let outcome = try await apply(event, to: stored) { preview in
            (preview.record.isCreating ? key?.outcomeUnknown : key?.answered(preview)) ?? .unchanged
        }
        let record = outcome.progress.resource.record
        if let id = Record.belvoID(in: event), let known = record.belvoID, known != id {
            try await workflow.noteTwin(id, of: record)
        }
        return outcome
    }

    /// From here on it is polled as often as any record that waits for Belvo.
    private func leaveUnknown(_ stored: Stored<Record>) async throws -> CreationOutcome<Record> {
        try await apply(Record.creationUnknown, to: stored) { _ in key?.outcomeUnknown ?? .unchanged }
    }

    /// Records an event. The writer that takes the record out of its creation settles the key, and no later one: what
    /// an app got under it stays its answer.
    private func apply(
        _ event: Record.Event, to stored: Stored<Record>, settling: (Stored<Record>) -> IdempotencySettlement
    ) async throws -> CreationOutcome<Record> {
        let applied = try await workflow.apply(event, to: stored) { next, current in
            try await workflow.writeCreation(next, over: current, after: event, cause: context.cause) { preview in
                current.record.isCreating ? settling(preview) : .unchanged
            }
        }
        return CreationOutcome(
            progress: applied.after.record.isCreating ? .pending(applied.after) : .done(applied.after),
            isOvertaken: !applied.before.record.isCreating)
    }

    private var dependencies: Dependencies { workflow.dependencies }
    private var timeouts: Timeouts { workflow.dependencies.timeouts }
}

extension Customer: Creatable {
    static let noun = "customer"
    var ownID: UUID { id.uuid }
    var isCreating: Bool { state == .creating }
    var isWanted: Bool { true }

    func creationSchedule(_ timeouts: Timeouts) -> Schedule {
        Schedule(
            firstPoll: timeouts.askingDeadline + .seconds(5), deadline: timeouts.callDeadline + timeouts.creationGrace)
    }

    static func notCreated(_ failure: Failure) -> Event {
        .notCreated(code: (failure == .notLetIn ? .notSent : failure).code)
    }
    static var creationUnknown: Event { .creationUnknown }

    static func belvoID(in event: Event) -> UUID? {
        if case .found(let id, _) = event { id } else { nil }
    }
}

extension Enrollment: Creatable {
    static let noun = "enrollment"
    var ownID: UUID { id.uuid }
    var isCreating: Bool { state == .creating }
    var isWanted: Bool { true }

    func creationSchedule(_ timeouts: Timeouts) -> Schedule { Enrollment.creationSchedule(timeouts) }

    static func notCreated(_ failure: Failure) -> Event { .refused(failure == .notLetIn ? .notSent : failure) }
    static var creationUnknown: Event { .creationUnknown }

    static func belvoID(in event: Event) -> UUID? {
        if case .reported(let report) = event { report.belvoID } else { nil }
    }
}

extension Payment: Creatable {
    static let noun = "payment"
    var ownID: UUID { id.uuid }
    var isCreating: Bool { state == .creating }
    var isWanted: Bool { !isCancelRequested }

    func creationSchedule(_ timeouts: Timeouts) -> Schedule { Payment.creationSchedule(timeouts) }

    static func notCreated(_ failure: Failure) -> Event { .refused(failure) }
    static var creationUnknown: Event { .creationUnknown }

    static func belvoID(in event: Event) -> UUID? {
        switch event {
        case .reported(let report): report.belvoID
        case .acknowledged(let id): id
        default: nil
        }
    }
}

import Belvo
import BelvoGate
import FoundationEssentials
import MerchantModel
import Payments

/// A workflow whose records are polled, again and again, until Belvo has said how they end.
protocol PolledWorkflow: Sendable {
    associatedtype Record: Pollable

    var dependencies: Dependencies { get }
    /// Reads Belvo about the record. What hinders it is logged.
    func readRemoteState(of record: Record, from belvo: Belvo.Client) async -> RemoteState<Record.Event>
    /// The event that follows from our own rows, whatever Belvo shows.
    func localEvent(of record: Record) async throws -> Record.Event?
    /// How a state ends that has lasted too long; nil when it may not end by that alone.
    func timeoutEvent(of record: Record, after remote: RemoteState<Record.Event>) -> Record.Event?
    /// Writes what an event has led to; nothing comes back when another writer was faster.
    func write(
        _ next: Record, over stored: Stored<Record>, after event: Record.Event, causedBy cause: Cause
    ) async throws -> Stored<Record>?
    /// The record as it is now; nothing when it is gone.
    func fresh(_ stored: Stored<Record>) async throws -> Stored<Record>?
    /// How long a record that has not changed is left alone; nil when there is nothing left to find out.
    func nextPoll(at stored: Stored<Record>) -> Duration?
    /// How long a record is left alone at least that Belvo has just shown unchanged.
    func rest(ofUnchanged stored: Stored<Record>) -> Duration
    /// How long a record with nothing more to find out is left alone, where this poll has not shown that; nil when it
    /// has.
    func pauseUntilRead(of stored: Stored<Record>, after remote: RemoteState<Record.Event>) -> Duration?
    /// Whether an event that was found out before the record became what it is says nothing of it any more.
    func isLate(_ event: Record.Event, for record: Record) -> Bool
    /// Called with a record that is still open after a poll: keeps an alarm where money came and no end in time.
    func raiseAlarms(ofOverdue stored: Stored<Record>) async throws
    /// Called with a record that is still open after a poll: logs that an operator has to act where it has been in
    /// doubt for too long.
    func alarmIfLongInDoubt(_ stored: Stored<Record>)
}

/// A record that workers poll.
protocol Pollable: Sendable, Equatable {
    associatedtype Event: Sendable
    associatedtype State: Equatable
    var subject: UserSubject { get }
    /// The institution at which calls about the record are made; nil where that is none, or not known.
    var institutionID: UUID? { get }
    var state: State { get }
    func transition(on event: Event) throws(TransitionRefused) -> Self
}

extension Customer: Pollable { var institutionID: UUID? { nil } }
extension Enrollment: Pollable { var institutionID: UUID? { institution.id } }
extension Payment: Pollable { var institutionID: UUID? { institution } }

/// The result of reading Belvo about a record.
enum RemoteState<Event: Sendable>: Sendable {
    case event(Event)
    /// Belvo's lists do not have it.
    case absent
    /// Belvo could not be read; nothing may be concluded. It may be read after this time, where that is known; or there
    /// was no turn at the gate.
    case unreadable(again: Duration?, hadNoTurn: Bool = false)

    /// The result of a reading that failed.
    static func unreadable(after error: any Error) -> Self {
        guard let error = error as? BelvoError, case .unreachable(_, let retryAfter) = error else {
            return .unreadable(again: nil)
        }
        return .unreadable(again: retryAfter, hadNoTurn: error.hadNoTurn)
    }

    fileprivate var again: Duration? { if case .unreadable(let again, _) = self { again } else { nil } }

    fileprivate var hadNoTurn: Bool { if case .unreadable(_, hadNoTurn: true) = self { true } else { false } }
}

/// The outcome of one poll of a record.
enum PollOutcome: Sendable, Equatable {
    /// The changes are written.
    case recorded
    /// There was nothing: the next poll is due after this time, or never.
    case unchanged(nextPoll: Duration?)
    /// It had no turn at the gate: it stays due since when it was.
    case unread
}

/// A record before and after an event: the same twice where the event came too late.
struct Applied<Record: Sendable>: Sendable {
    let before: Stored<Record>
    let after: Stored<Record>
}

/// How often a change is tried again when another writer was faster.
let attemptsMax = 8

extension PolledWorkflow {
    /// Reads Belvo about a record whose poll is due, and records what it says. Nothing is written where nothing has
    /// changed: a worker that polls many records sets the next polls of all of them at once.
    ///
    /// A late write of a server that was away must lose: there is no second attempt here.
    func poll(_ stored: Stored<Record>, causedBy cause: Cause = .poller) async throws -> PollOutcome {
        // What Belvo answers about one user's records is not to shut the gate for all.
        let origin = CallOrigin.current ?? .user(stored.record.subject)
        let remote = await CallOrigin.$current.withValue(origin) {
            await CallOrigin.about(stored.record.institutionID) {
                await readRemoteState(of: stored.record, from: dependencies.belvo)
            }
        }
        var current = stored
        if case .event(let event) = remote {
            let next = try stored.record.transition(on: event)
            if next != stored.record {
                guard let written = try await write(next, over: stored, after: event, causedBy: cause) else {
                    return .recorded
                }
                current = written
                guard current.record.state == stored.record.state else { return .recorded }
            }
        }
        try await raiseAlarms(ofOverdue: current)
        defer { alarmIfLongInDoubt(current) }
        var end = try await localEvent(of: current.record)
        if end == nil, stored.isOverdue { end = timeoutEvent(of: current.record, after: remote) }
        if let end {
            _ = try await write(try current.record.transition(on: end), over: current, after: end, causedBy: cause)
            return .recorded
        }
        guard current.version == stored.version else { return .recorded }
        if stored.due != nil, remote.hadNoTurn { return .unread }
        var pause = nextPoll(at: stored) ?? pauseUntilRead(of: stored, after: remote)
        if case .event = remote { pause = pause.map { max($0, rest(ofUnchanged: stored)) } }
        return .unchanged(nextPoll: pause.map { min($0, remote.again ?? $0) })
    }

    /// Applies an event to the freshest state, however many others change the record meanwhile.
    ///
    /// Where the record has gone further already, the event comes too late to matter, and the record comes back as
    /// it is: a poller may have read the end before the call that led to it was answered.
    func apply(
        _ event: Record.Event, to stored: Stored<Record>,
        write: (_ next: Record, _ over: Stored<Record>) async throws -> Stored<Record>?
    ) async throws -> Applied<Record> {
        var current = stored
        for attempt in 0..<attemptsMax {
            let isLate = attempt > 0 && isLate(event, for: current.record)
            guard !isLate, let next = try? current.record.transition(on: event) else {
                return Applied(before: current, after: current)
            }
            if let written = try await write(next, current) { return Applied(before: current, after: written) }
            guard let fresh = try await fresh(stored) else { break }
            current = fresh
        }
        throw WorkflowRefusal.contended
    }

    func localEvent(of record: Record) async throws -> Record.Event? { nil }
    func rest(ofUnchanged stored: Stored<Record>) -> Duration { .zero }
    func raiseAlarms(ofOverdue stored: Stored<Record>) async throws {}
    func isLate(_ event: Record.Event, for record: Record) -> Bool { false }
    func pauseUntilRead(of stored: Stored<Record>, after remote: RemoteState<Record.Event>) -> Duration? { nil }
    func alarmIfLongInDoubt(_ stored: Stored<Record>) {}
}

import Belvo
import Payments

/// A journey whose records are looked at, again and again, until Belvo has said how they end.
protocol LookingJourney: Sendable {
    associatedtype Record: LookedAt

    var world: World { get }
    /// Reads Belvo about the record. What hinders it is told to the log.
    func news(of record: Record, from belvo: Belvo.Client) async -> News<Record.Event>
    /// What follows from our own rows, whatever Belvo says.
    func ownNews(of record: Record) async throws -> Record.Event?
    /// How a state ends that has lasted too long; nil when it may not end by that alone.
    func lapse(of record: Record, after news: News<Record.Event>) -> Record.Event?
    /// Writes what an event has led to; nothing comes back when somebody else was faster.
    func write(
        _ next: Record, over stored: Stored<Record>, after event: Record.Event, causedBy cause: Cause
    ) async throws -> Stored<Record>?
    /// How long a record that has not changed is left alone; nil when there is nothing left to find out.
    func nextLook(at stored: Stored<Record>) -> Duration?
    /// How long a record with nothing more to find out is left alone, where this look has not shown that; nil when it
    /// has.
    func pauseUntilRead(of stored: Stored<Record>, after news: News<Record.Event>) -> Duration?
    /// Hears of a record that goes on after a look.
    func remind(of stored: Stored<Record>)
}

/// A record that workers look at.
protocol LookedAt: Sendable, Equatable {
    associatedtype Event: Sendable
    associatedtype State: Equatable
    var state: State { get }
    func transition(on event: Event) throws(TransitionRefused) -> Self
}

extension Customer: LookedAt {}
extension Enrollment: LookedAt {}
extension Payment: LookedAt {}

/// What came of one look at a record.
enum Look: Sendable, Equatable {
    /// What there was to write is written.
    case recorded
    /// There was nothing: the next look is due after this time, or never.
    case unchanged(nextLook: Duration?)
}

extension LookingJourney {
    /// Reads Belvo about a record whose look is due, and records what it says. Nothing is written where nothing has
    /// changed: whoever looks at many records sets the next looks of all of them at once.
    ///
    /// A late write of a server that was away must lose: there is no second attempt here.
    func look(at stored: Stored<Record>, causedBy cause: Cause = .poller) async throws -> Look {
        let news = await news(of: stored.record, from: world.belvo)
        var current = stored
        if case .event(let event) = news {
            let next = try stored.record.transition(on: event)
            if next != stored.record {
                guard let written = try await write(next, over: stored, after: event, causedBy: cause) else {
                    return .recorded
                }
                current = written
                guard current.record.state == stored.record.state else { return .recorded }
            }
        }
        defer { remind(of: current) }
        var end = try await ownNews(of: current.record)
        if end == nil, stored.isOverdue { end = lapse(of: current.record, after: news) }
        if let end {
            _ = try await write(try current.record.transition(on: end), over: current, after: end, causedBy: cause)
            return .recorded
        }
        guard current.version == stored.version else { return .recorded }
        return .unchanged(nextLook: nextLook(at: stored) ?? pauseUntilRead(of: stored, after: news))
    }

    func ownNews(of record: Record) async throws -> Record.Event? { nil }
    func pauseUntilRead(of stored: Stored<Record>, after news: News<Record.Event>) -> Duration? { nil }
    func remind(of stored: Stored<Record>) {}
}

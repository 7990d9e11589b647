import HTTP
import Payments
import Transport

/// One request that waits for a resource to change. It belongs to one loop, and costs neither a task nor a connection
/// to the database while nothing happens.
///
/// It watches before it reads, so that no change comes between; it reads once more at the end of its time, because what
/// wakes it is a hint that may be lost. Whose the resource is was checked by the token at the beginning; that it still
/// is this user's is part of every read.
final class LongPoll {
    private let api: API
    private let watched: Watched
    private let subject: UserSubject
    /// What the client has.
    private let known: IfNoneMatch?
    private let requestID: String
    private let client: IPAddress
    private let end: Monotonic
    private let bell = Bell()
    private var watch: Watch?
    /// The state that was seen last; nothing while there is nothing to show.
    private var tag: EntityTag?

    init(
        on watched: Watched, of subject: UserSubject, unlike known: IfNoneMatch?, within wait: Duration,
        for inbound: Inbound, through api: API
    ) {
        self.watched = watched
        self.subject = subject
        self.known = known
        requestID = inbound.requestID
        client = inbound.client
        self.api = api
        end = Monotonic.now() + wait
    }

    /// The answer, if there is one at once.
    func begin() async throws -> Reply {
        if let record = watched.record { watch = api.world.changes.watch(record, with: bell) }
        var sight = try await api.look(at: watched, of: subject)
        if watch == nil, isWorthWaiting(sight) {
            // Only now is it known which record to watch.
            watch = api.world.changes.watch(sight.record, with: bell)
            sight = try await api.look(at: watched, of: subject)
        }
        return reply(to: sight)
    }

    private func awake(_ reason: HeldReply.Reason) async -> Reply {
        // Thousands are asked at once then, and the app loses nothing: it asks the next instance, with the tag it has.
        if reason == .draining { return .response(tag.map(Response.notModified) ?? api.notReady) }
        do {
            let sight = try await api.world.changes.inTurn { try await api.look(at: watched, of: subject) }
            return reason == .timeIsUp ? .response(sight.answer(ifNoneMatch: known)) : reply(to: sight)
        } catch {
            let inbound = Inbound(request: Request(.get, Target(path: path)), requestID: requestID, client: client)
            return .response(api.refusal(error, to: inbound))
        }
    }

    private func reply(to sight: Sight) -> Reply {
        guard isWorthWaiting(sight), let loop = EventLoop.current else {
            return .response(sight.answer(ifNoneMatch: known))
        }
        tag = sight.tag
        let poll = LoopBound(self, on: loop)
        return .held(
            HeldReply(bell: LoopBound(bell, on: loop), until: end) { reason in await poll.value.awake(reason) })
    }

    private func isWorthWaiting(_ sight: Sight) -> Bool {
        !sight.isFinal && !sight.isNews(to: known)
    }

    /// For the log.
    private var path: String {
        switch watched {
        case .customer: "/v1/customer"
        case .enrollment(let id): "/v1/enrollments/\(id)"
        case .registrationOptions(let id): "/v1/enrollments/\(id)/fido-registration-options"
        case .payment(let id): "/v1/payment-intents/\(id)"
        }
    }
}

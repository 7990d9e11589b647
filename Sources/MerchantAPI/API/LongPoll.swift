import HTTP
import MerchantStore
import MerchantWorkflows
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
    private let waitable: WaitableResource
    private let subject: UserSubject
    /// The tag that the client has.
    private let known: IfNoneMatch?
    private let requestID: String
    private let client: IPAddress
    private let end: Monotonic
    private let signal = WakeSignal()
    private var watch: Watch?
    /// The state that was seen last; nothing while there is nothing to show.
    private var tag: EntityTag?

    init(
        on waitable: WaitableResource, of subject: UserSubject, unlike known: IfNoneMatch?, within wait: Duration,
        for inbound: Inbound, through api: API
    ) {
        self.waitable = waitable
        self.subject = subject
        self.known = known
        requestID = inbound.requestID
        client = inbound.client
        self.api = api
        end = Monotonic.now() + wait
    }

    /// The answer, if there is one at once.
    func begin() async throws -> Reply {
        if let record = waitable.record { watch = api.dependencies.changes.watch(record, with: signal) }
        var snapshot = try await api.fetch(waitable, of: subject)
        if watch == nil, isWorthWaiting(snapshot) {
            // Only now is it known which record to watch.
            watch = api.dependencies.changes.watch(snapshot.record, with: signal)
            snapshot = try await api.fetch(waitable, of: subject)
        }
        return reply(to: snapshot)
    }

    private func awake(_ reason: HeldReply.Reason) async -> Reply {
        // Thousands are asked at once then, and the app loses nothing: it asks the next instance, with the tag it has.
        if reason == .draining { return .response(tag.map(Response.notModified) ?? api.notReady) }
        do {
            let snapshot = try await api.dependencies.changes.withinReadLimit {
                try await api.fetch(waitable, of: subject)
            }
            return reason == .timeIsUp ? .response(snapshot.answer(ifNoneMatch: known)) : reply(to: snapshot)
        } catch {
            let inbound = Inbound(request: Request(.get, Target(path: path)), requestID: requestID, client: client)
            return .response(api.refusal(error, to: inbound))
        }
    }

    private func reply(to snapshot: ResourceSnapshot) -> Reply {
        guard isWorthWaiting(snapshot), let loop = EventLoop.current else {
            return .response(snapshot.answer(ifNoneMatch: known))
        }
        tag = snapshot.tag
        let poll = LoopBound(self, on: loop)
        return .held(
            HeldReply(signal: LoopBound(signal, on: loop), until: end) { reason in await poll.value.awake(reason) })
    }

    private func isWorthWaiting(_ snapshot: ResourceSnapshot) -> Bool {
        !snapshot.isFinal && !snapshot.isNew(to: known)
    }

    /// For the log.
    private var path: String {
        switch waitable {
        case .customer: "/v1/customer"
        case .enrollment(let id): "/v1/enrollments/\(id)"
        case .registrationOptions(let id): "/v1/enrollments/\(id)/fido-registration-options"
        case .payment(let id): "/v1/payment-intents/\(id)"
        }
    }
}

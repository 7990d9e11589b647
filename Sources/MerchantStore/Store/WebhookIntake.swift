import MerchantModel
import Postgres
import Synchronization
import Transport

/// Stores Belvo's webhooks: those that arrive while a statement runs are written together by the next one.
///
/// Belvo sends three webhooks for one end at the same moment, and many at once on a busy day. None waits for others:
/// the first one is written at once, and each is on disk before it is answered.
///
/// While the worker of this server asks, what comes is stored as claimed by it, and handed over: claiming by itself
/// would write every row once more. If this server dies, the lease ends and any server works on it.
package final class WebhookIntake: Sendable {
    /// A webhook for the worker, and when it was stored at the earliest.
    package struct Handed: Sendable {
        package let receipt: Stored<WebhookReceipt>
        package let since: Monotonic
    }

    private struct Waiting {
        let webhook: NewWebhook
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var isWriting = false
        var waiting: [Waiting] = []
        /// Until when the worker is believed to come.
        var attendedUntil: Monotonic?
        var handed: [Handed] = []
        /// Whether this server stops: nothing is handed over any more.
        var isClosed = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Webhooks of one statement at most.
    package static let widthMax = 64
    /// Webhooks that are handed over and wait for the worker at most; further ones are due for every server.
    static let handedMax = 512
    /// For how long the worker counts as there after it has asked.
    static let attendance = Duration.seconds(3)

    /// Says that the worker is there, and whether something was handed over to it.
    package func attend(at now: Monotonic) -> Bool {
        state.withLock { state in
            state.attendedUntil = now + Self.attendance
            return !state.handed.isEmpty
        }
    }

    /// From now on what comes is due for every server.
    package func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Gives the worker up to `limit` of what was handed over, what came first before what came later.
    package func take(limit: Int) -> [Handed] {
        state.withLock { state in
            defer { state.handed.removeFirst(min(limit, state.handed.count)) }
            return Array(state.handed.prefix(limit))
        }
    }

    private func isTaken(_ count: Int, at now: Monotonic) -> Bool {
        state.withLock { state in
            guard !state.isClosed, let end = state.attendedUntil, now < end else { return false }
            return state.handed.count + count <= Self.handedMax
        }
    }

    /// Hands over what is stored as claimed by this server since so long.
    func hand(_ receipts: [Stored<WebhookReceipt>], since: Monotonic) {
        state.withLock { state in
            // What came once more is another version of its row, and is worked on once.
            let again = Set(receipts.map(\.record.id))
            state.handed.removeAll { again.contains($0.receipt.record.id) }
            state.handed += receipts.map { Handed(receipt: $0, since: since) }
        }
    }

    /// Returns when it is on disk. What is handed over to the worker is leased for so long.
    package func insert(_ webhook: NewWebhook, into store: Store, lease: Duration) async throws {
        // What means nothing here, or names nothing, has nothing to hurry for.
        guard webhook.outcome == .received, webhook.object != nil, let loop = EventLoop.current else {
            return try await store.insertWebhook(webhook)
        }
        try await withCheckedThrowingContinuation { continuation in
            let isFirst = state.withLock { state in
                state.waiting.append(Waiting(webhook: webhook, continuation: continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if isFirst { _ = loop.task { await self.writeWaiting(to: store, lease: lease) } }
        }
    }

    /// Whether more webhooks wait; if not, no task writes any more.
    private var hasCompany: Bool {
        state.withLock { state in
            state.isWriting = !state.waiting.isEmpty
            return state.isWriting
        }
    }

    private func writeWaiting(to store: Store, lease: Duration) async {
        repeat {
            let taken = state.withLock { state in
                defer { state.waiting.removeFirst(min(Self.widthMax, state.waiting.count)) }
                return Array(state.waiting.prefix(Self.widthMax))
            }
            await write(taken, to: store, lease: lease)
        } while hasCompany
    }

    /// The worker settles rows in another order than they are inserted in: of the two one may have to begin anew.
    private func insert(
        _ webhooks: [(NewWebhook, copies: Int)], into store: Store, lease: Duration?
    ) async throws -> [Stored<WebhookReceipt>] {
        do {
            return try await store.insertWebhooks(webhooks, lease: lease)
        } catch let error as DatabaseError where error.state?.isTransient == true {
            return try await store.insertWebhooks(webhooks, lease: lease)
        }
    }

    private func write(_ taken: [Waiting], to store: Store, lease: Duration) async {
        var kinds: [(NewWebhook, copies: Int)] = []
        for webhook in taken.map(\.webhook) {
            if let place = kinds.firstIndex(where: { $0.0.digest == webhook.digest }) {
                kinds[place].copies += 1
            } else {
                kinds.append((webhook, copies: 1))
            }
        }
        do {
            let begin = store.monotonic()
            let claimed = isTaken(kinds.count, at: begin) ? lease : nil
            hand(try await insert(kinds, into: store, lease: claimed), since: begin)
            for one in taken { one.continuation.resume() }
        } catch let error as DatabaseError where error.isAboutContent && taken.count > 1 {
            // One of them cannot be stored, and must not take the others with it.
            for one in taken { await write([one], to: store, lease: lease) }
        } catch {
            // The failure affects every waiting webhook, so all of them fail now.
            let hindered = state.withLock { state in
                defer { state.waiting.removeAll() }
                return taken + state.waiting
            }
            for one in hindered { one.continuation.resume(throwing: error) }
        }
    }
}

extension DatabaseError {
    /// Whether a value is refused (classes 22 and 23), and not the moment: a lock, a time limit, an end of the server.
    fileprivate var isAboutContent: Bool {
        if case .refused(let error) = self { ["22", "23"].contains(error.state.category) } else { false }
    }
}

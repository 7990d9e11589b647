import Postgres
import Synchronization
import Transport

/// Stores Belvo's webhooks: those that arrive while a statement runs are written together by the next one.
///
/// Belvo sends three webhooks for one end at the same moment, and many at once on a busy day. None waits for others:
/// the first one is written at once, and each is on disk before it is answered.
package final class WebhookIntake: Sendable {
    private struct Waiting {
        let webhook: NewWebhook
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var isWriting = false
        var waiting: [Waiting] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Those that go together at most.
    package static let widthMax = 64

    /// Returns when it is on disk.
    package func insert(_ webhook: NewWebhook, into store: Store) async throws {
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
            if isFirst { _ = loop.task { await self.writeWaiting(to: store) } }
        }
    }

    /// Whether more webhooks wait; if not, no task writes any more.
    private var hasCompany: Bool {
        state.withLock { state in
            state.isWriting = !state.waiting.isEmpty
            return state.isWriting
        }
    }

    private func writeWaiting(to store: Store) async {
        repeat {
            let taken = state.withLock { state in
                defer { state.waiting.removeFirst(min(Self.widthMax, state.waiting.count)) }
                return Array(state.waiting.prefix(Self.widthMax))
            }
            await write(taken, to: store)
        } while hasCompany
    }

    private func write(_ taken: [Waiting], to store: Store) async {
        var kinds: [(NewWebhook, copies: Int)] = []
        for webhook in taken.map(\.webhook) {
            if let place = kinds.firstIndex(where: { $0.0.digest == webhook.digest }) {
                kinds[place].copies += 1
            } else {
                kinds.append((webhook, copies: 1))
            }
        }
        do {
            try await store.insertWebhooks(kinds)
            for one in taken { one.continuation.resume() }
        } catch let error as DatabaseError where error.isAboutContent && taken.count > 1 {
            // One of them cannot be stored, and must not take the others with it.
            for one in taken { await write([one], to: store) }
        } catch {
            // What hinders one hinders all: those who came meanwhile need not wait until their time is over, too.
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

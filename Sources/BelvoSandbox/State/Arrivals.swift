import Synchronization

/// Notifies listeners of each call that was answered.
final class Arrivals: Sendable {
    private let listeners = Mutex((next: 0, continuations: [Int: AsyncStream<CallRecord>.Continuation]()))

    /// The calls from now on. The listener leaves by ending its loop.
    func stream() -> AsyncStream<CallRecord> {
        AsyncStream { continuation in
            let number = listeners.withLock { listeners in
                listeners.next += 1
                listeners.continuations[listeners.next] = continuation
                return listeners.next
            }
            continuation.onTermination = { [weak self] _ in
                self?.listeners.withLock { _ = $0.continuations.removeValue(forKey: number) }
            }
        }
    }

    func tell(_ call: CallRecord) {
        for continuation in listeners.withLock({ Array($0.continuations.values) }) { continuation.yield(call) }
    }
}

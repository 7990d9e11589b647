import Glibc
import Synchronization

/// A few threads for calls that block or compute for long: name resolution, reading key files, signatures.
///
/// A loop that made such a call would stand still with all its connections.
public final class BlockingThreads: Sendable {
    /// The threads of this process for such work, started at first use.
    public static let shared = BlockingThreads(count: 2)

    private struct Queue {
        var waiting: [@Sendable () -> Void] = []
        var isStarted = false
    }

    private let queue = Mutex(Queue())
    private let available = Semaphore()
    private let count: Int

    init(count: Int) {
        self.count = count
    }

    /// Runs the closure on one of the threads and gives back what it returns or throws.
    public func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: Result(catching: work)) }
        }
        return try result.get()
    }

    private func submit(_ work: @escaping @Sendable () -> Void) {
        let mustStart = queue.withLock { queue in
            queue.waiting.append(work)
            defer { queue.isStarted = true }
            return !queue.isStarted
        }
        if mustStart { start() }
        available.signal()
    }

    private func start() {
        var started = 0
        for number in 1...count {
            // One thread is enough to go on; without any, nothing could ever be resolved.
            if (try? ThreadStart.detach(name: "blocking-\(number)", { [self] in work() })) != nil { started += 1 }
        }
        precondition(started > 0, "the system gave no thread")
    }

    private func work() {
        while true {
            available.wait()
            let next = queue.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            next?()
        }
    }
}

/// A counting semaphore. Wraps `sem_post` and `sem_wait`.
///
/// It is `@unchecked Sendable` because the pointer is set once and POSIX lets any thread post and wait.
private final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() {
        sem_post(semaphore)
    }

    func wait() {
        while sem_wait(semaphore) != 0 {}  // Only EINTR ends it early.
    }
}

import Transport

/// Tasks of one loop that wait for something, first come, first served, each until its own deadline.
final class WaitQueue<Value: Sendable> {
    private let loop: EventLoop
    private var waiters: [Waiter] = []

    private final class Waiter {
        var continuation: CheckedContinuation<Value?, Never>?
        var timer: LoopTimer?

        func leave(with value: Value?) {
            timer?.cancel()
            continuation?.resume(returning: value)
            continuation = nil
        }
    }

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Waits for a value; gives nothing when the deadline passes first.
    func wait(until deadline: Monotonic) async -> Value? {
        await withCheckedContinuation { continuation in
            let waiter = Waiter()
            waiter.continuation = continuation
            waiter.timer = loop.schedule(after: deadline - Monotonic.now()) { [self] in
                waiters.removeAll { $0 === waiter }
                waiter.leave(with: nil)
            }
            waiters.append(waiter)
        }
    }

    /// Hands the value to the first in line; false when none waits.
    func hand(_ value: Value) -> Bool {
        guard !waiters.isEmpty else { return false }
        waiters.removeFirst().leave(with: value)
        return true
    }

    /// Hands the value to everybody in line.
    func handToAll(_ value: Value) {
        let everybody = waiters
        waiters.removeAll()
        for waiter in everybody { waiter.leave(with: value) }
    }
}

import Transport

/// One timer for many deadlines. Most deadlines are met, so each of them having a timer would be mostly waste.
final class DeadlineTimer {
    private let loop: EventLoop
    private let handler: () -> Void
    private var timer: LoopTimer?
    private var armedFor: Monotonic?

    /// The handler looks for what is overdue, and arms the timer again for what is not.
    init(on loop: EventLoop, handler: @escaping () -> Void) {
        self.loop = loop
        self.handler = handler
    }

    /// Makes sure that the handler is called at this moment or before.
    func arm(for deadline: Monotonic) {
        if let armedFor, armedFor <= deadline { return }
        timer?.cancel()
        armedFor = deadline
        timer = loop.schedule(after: deadline - Monotonic.now()) { [weak self] in self?.fire() }
    }

    func disarm() {
        timer?.cancel()
        timer = nil
        armedFor = nil
    }

    private func fire() {
        timer = nil
        armedFor = nil
        handler()
    }
}

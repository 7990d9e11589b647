import Transport

/// One wait of one task for a descriptor, with a deadline.
final class ReadinessWait: EventHandler {
    private let loop: EventLoop
    private var registration: Registration?
    private var timer: LoopTimer?
    private var continuation: UnsafeContinuation<WaitError?, Never>?
    private var isCancelled = false

    /// Suspends until the descriptor is ready, has failed, or the deadline passes.
    static func wait(
        for descriptor: Int32, _ interest: Interest, on loop: EventLoop, until deadline: Monotonic
    ) async throws {
        let wait = LoopBound(ReadinessWait(loop: loop), on: loop)
        try wait.value.start(descriptor, interest, until: deadline)
        let error = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in wait.value.suspend(continuation) }
        } onCancel: {
            loop.execute { wait.value.cancel() }
        }
        if let error { throw error }
    }

    private init(loop: EventLoop) {
        self.loop = loop
    }

    func handle(_ readiness: Readiness) {
        end(nil)
    }

    private func start(_ descriptor: Int32, _ interest: Interest, until deadline: Monotonic) throws {
        registration = try loop.register(descriptor, for: interest, handler: self)
        timer = loop.schedule(after: deadline - Monotonic.now()) { self.end(.timedOut) }
    }

    private func suspend(_ continuation: UnsafeContinuation<WaitError?, Never>) {
        self.continuation = continuation
        if isCancelled { end(.cancelled) }
    }

    private func cancel() {
        isCancelled = true
        end(.cancelled)
    }

    /// Ends once; the registration goes before libpq can close the descriptor.
    private func end(_ error: WaitError?) {
        guard let continuation else { return }
        self.continuation = nil
        timer?.cancel()
        timer = nil
        if let registration { loop.deregister(registration) }
        registration = nil
        continuation.resume(returning: error)
    }
}

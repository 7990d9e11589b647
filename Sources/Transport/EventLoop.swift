import CLinux
import Glibc
import Synchronization

/// One thread that waits for sockets, timers and work from elsewhere, and runs what becomes ready.
///
/// Wraps `epoll`. A loop is also a task executor: a task started with `executorPreference: loop` runs on the
/// loop's thread between its events, and goes on there after each suspension, so that ordinary `async` functions
/// serve requests without a thread hop. Whatever belongs to a loop (registrations, timers, connections) is touched
/// on its thread only; `isCurrent` tells, and the methods that need it check it in debug builds.
///
/// It is `@unchecked Sendable` because the fields marked *loop only* are not protected by anything but that rule;
/// what other threads may touch is in `inbox`, under its lock.
public final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// The jobs that other threads have handed over.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var stopped = false
    }

    private let inbox = Mutex(Inbox())
    private let epoll: Descriptor
    private let wakeUp: Descriptor

    // Loop only, from here on. Those that every event touches are not checked for exclusive access at run time
    // (`@exclusivity(unchecked)`): no change of theirs calls anything that comes back here.
    @exclusivity(unchecked)
    private var jobs: [UnownedJob] = []
    @exclusivity(unchecked)
    private var slots: [Slot] = []
    private var freeSlots: [Int32] = []
    private var timers = TimerQueue()
    /// The owner is kept too: an identity means nothing once another object may have it.
    private var locals: [ObjectIdentifier: (owner: AnyObject, value: AnyObject)] = [:]
    @exclusivity(unchecked)
    private var events: [epoll_event]
    private var isStopping = false
    /// Called whenever every task has gone as far as it can without an event: for simulations, which then choose what
    /// happens next. Loop only.
    package var onIdle: (() -> Void)?

    /// The moment at which the present round of events began. Loop only.
    public private(set) var now = Monotonic.now()

    /// How many descriptors are watched. Loop only.
    public var registrationCount: Int { slots.count - freeSlots.count }

    private struct Slot {
        var handler: (any EventHandler)?
        var descriptor: Int32
        /// Grows each time the slot is given away again, so that an event of its former owner is recognised.
        var generation: UInt32
    }

    /// Events taken from the kernel in one call. More than this wait for the next round.
    private static let eventsMax = 256

    /// Creates a loop; it does nothing until a thread calls `run()`.
    public init() throws(SystemError) {
        epoll = Descriptor(owning: try retryingInterrupts("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        wakeUp = Descriptor(
            owning: try retryingInterrupts("eventfd") { eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)) })
        events = [epoll_event](repeating: epoll_event(), count: Self.eventsMax)
        var event = epoll_event()
        clinux_epoll_event(&event, EPOLLIN.rawValue, Self.wakeUpToken)
        let (poll, waker) = (epoll.raw, wakeUp.raw)
        _ = try retryingInterrupts("epoll_ctl") { epoll_ctl(poll, EPOLL_CTL_ADD, waker, &event) }
    }

    /// The loop that runs on the calling thread.
    public static var current: EventLoop? {
        clinux_thread_loop().map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether the caller is on this loop's thread.
    public var isCurrent: Bool { clinux_thread_loop() == Unmanaged.passUnretained(self).toOpaque() }

    /// Runs until `stop()`. The calling thread becomes the loop's own.
    public func run() {
        precondition(clinux_thread_loop() == nil, "a thread runs one loop")
        clinux_set_thread_loop(Unmanaged.passUnretained(self).toOpaque())
        defer { clinux_set_thread_loop(nil) }
        while true {
            takeInbox()
            runJobs()
            // Asked here, and not behind the wait: the wake-up of `stop()` may have been taken by the round before.
            if isStopping { return }
            if let onIdle, jobs.isEmpty { onIdle() }
            waitForEvents()
            fireTimers()
        }
    }

    /// Makes `run()` return after the present round. May be called from any thread.
    public func stop() {
        inbox.withLock { $0.stopped = true }
        wake()
    }

    /// Runs the closure on the loop's thread, soon. May be called from any thread.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        Task(executorPreference: self) { work() }
    }

    /// Takes a job of a task that prefers this loop. Called by the Swift runtime, from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else {
            let wasEmpty = inbox.withLock { inbox in
                inbox.jobs.append(job)
                return inbox.jobs.count == 1
            }
            if wasEmpty { wake() }
        }
    }
}

// Descriptors. Loop only.
extension EventLoop {
    /// Starts watching a descriptor. The handler is kept until `deregister`.
    ///
    /// Level-triggered: the handler hears again as long as there is something to read or room to write.
    /// With `exclusive`, of several loops that watch one listening descriptor only some wake (EPOLLEXCLUSIVE).
    public func register(
        _ descriptor: Int32, for interest: Interest, exclusive: Bool = false, handler: any EventHandler
    ) throws(SystemError) -> Registration {
        assert(isCurrent, "registrations belong to the loop's thread")
        let index = freeSlots.popLast() ?? Int32(slots.count)
        if Int(index) == slots.count { slots.append(Slot(handler: nil, descriptor: -1, generation: 0)) }
        slots[Int(index)].handler = handler
        slots[Int(index)].descriptor = descriptor
        let registration = Registration(slot: index, generation: slots[Int(index)].generation)
        do {
            try control(EPOLL_CTL_ADD, registration, interest, exclusive: exclusive)
        } catch {
            release(registration)
            throw error
        }
        return registration
    }

    /// Changes what a registration waits for. An empty interest still gets errors and hang-ups.
    public func setInterest(_ interest: Interest, of registration: Registration) throws(SystemError) {
        assert(isCurrent, "registrations belong to the loop's thread")
        try control(EPOLL_CTL_MOD, registration, interest)
    }

    /// Stops watching. Must be called before the descriptor is closed; events already fetched are dropped.
    public func deregister(_ registration: Registration) {
        assert(isCurrent, "registrations belong to the loop's thread")
        // The descriptor is open and registered, so this cannot fail; were it gone, epoll would have forgotten it.
        _ = epoll_ctl(epoll.raw, EPOLL_CTL_DEL, slots[Int(registration.slot)].descriptor, nil)
        release(registration)
    }
}

// Timers and locals. Loop only.
extension EventLoop {
    /// Calls the handler once, on the loop, when the time has passed.
    @discardableResult
    public func schedule(after duration: Duration, _ handler: @escaping () -> Void) -> LoopTimer {
        assert(isCurrent, "timers belong to the loop's thread")
        let timer = LoopTimer(deadline: Monotonic.now() + duration, handler: handler)
        timers.insert(timer)
        return timer
    }

    /// The owner's value for this loop, made at first use: a pool of connections, for instance.
    ///
    /// The loop keeps the value and its owner until `removeLocal(for:)`.
    public func local<Value: AnyObject>(for owner: AnyObject, make: () throws -> Value) rethrows -> Value {
        assert(isCurrent, "what is local to a loop belongs to its thread")
        if let value = locals[ObjectIdentifier(owner)]?.value as? Value { return value }
        let value = try make()
        locals[ObjectIdentifier(owner)] = (owner, value)
        return value
    }

    /// Forgets what the owner kept on this loop, and returns it.
    public func removeLocal(for owner: AnyObject) -> AnyObject? {
        assert(isCurrent, "what is local to a loop belongs to its thread")
        return locals.removeValue(forKey: ObjectIdentifier(owner))?.value
    }
}

// One round.
extension EventLoop {
    private static var wakeUpToken: UInt64 { .max }

    private func takeInbox() {
        inbox.withLock { inbox in
            if jobs.isEmpty {
                swap(&jobs, &inbox.jobs)
            } else {
                jobs.append(contentsOf: inbox.jobs)
                inbox.jobs.removeAll(keepingCapacity: true)
            }
            isStopping = inbox.stopped
        }
    }

    /// Runs what is there now. What these jobs enqueue waits for the next round, so that sockets get their turn.
    private func runJobs() {
        guard !jobs.isEmpty else { return }
        var batch: [UnownedJob] = []
        swap(&batch, &jobs)
        let executor = asUnownedTaskExecutor()
        for job in batch { job.runSynchronously(on: executor) }
        if jobs.isEmpty {
            // Keeps the allocation for the next round.
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &jobs)
        }
    }

    private func waitForEvents() {
        let count = Int(epoll_wait(epoll.raw, &events, Int32(Self.eventsMax), jobs.isEmpty ? timeoutMilliseconds() : 0))
        now = Monotonic.now()
        guard count > 0 else { return }  // EINTR and a time-out alike: the next round looks again.
        for index in 0..<count {
            let token = clinux_epoll_token(&events[index])
            if token == Self.wakeUpToken {
                drainWakeUp()
                continue
            }
            let readiness = Readiness(epoll: clinux_epoll_events(&events[index]))
            let registration = Registration(token: token)
            guard let handler = slots[Int(registration.slot)].handler, isLive(registration) else { continue }
            handler.handle(readiness)
        }
    }

    private func timeoutMilliseconds() -> Int32 {
        guard let next = timers.nextDeadline else { return -1 }
        let nanoseconds = (next - Monotonic.now()).wholeNanoseconds
        // Rounded up: waking before the deadline would spin until it.
        return Int32(clamping: max(0, (nanoseconds + 999_999) / 1_000_000))
    }

    /// Calls every handler whose time has come, also those set meanwhile for a moment already past.
    private func fireTimers() {
        while let timer = timers.popDue(at: now) { timer.fire() }
    }

    private func wake() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so the loop is about to wake anyway.
        _ = write(wakeUp.raw, &one, MemoryLayout<UInt64>.size)
    }

    private func drainWakeUp() {
        var count: UInt64 = 0
        _ = read(wakeUp.raw, &count, MemoryLayout<UInt64>.size)
    }

    private func isLive(_ registration: Registration) -> Bool {
        slots[Int(registration.slot)].generation == registration.generation
    }

    private func release(_ registration: Registration) {
        precondition(isLive(registration), "a registration is given back once")
        slots[Int(registration.slot)].handler = nil
        slots[Int(registration.slot)].descriptor = -1
        slots[Int(registration.slot)].generation &+= 1
        freeSlots.append(registration.slot)
    }

    private func control(
        _ operation: Int32, _ registration: Registration, _ interest: Interest, exclusive: Bool = false
    ) throws(SystemError) {
        precondition(isLive(registration), "a registration is used until it is given back")
        var event = epoll_event()
        // EPOLLRDHUP only for who reads: a peer that has finished sending would wake everybody else for ever.
        let finish = interest.contains(.readable) && !exclusive ? EPOLLRDHUP.rawValue : 0
        let mode = exclusive ? EPOLLEXCLUSIVE.rawValue : 0
        clinux_epoll_event(&event, interest.epoll | finish | mode, registration.token)
        let descriptor = slots[Int(registration.slot)].descriptor
        let poll = epoll.raw
        _ = try retryingInterrupts("epoll_ctl") { epoll_ctl(poll, operation, descriptor, &event) }
    }
}

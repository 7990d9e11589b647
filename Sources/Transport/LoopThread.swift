import CLinux
import Glibc

/// A thread that runs one event loop until the loop is stopped.
///
/// Wraps `pthread_create` and `pthread_join`.
public struct LoopThread: Sendable {
    public let loop: EventLoop
    private let thread: pthread_t

    /// Starts the loop on a thread of its own, named as `/proc` and debuggers will show it (15 bytes).
    public static func start(_ loop: EventLoop, name: String) throws(SystemError) -> LoopThread {
        LoopThread(loop: loop, thread: try ThreadStart.withThread(name: name, { loop.run() }) { $0 })
    }

    /// Waits until the loop has been stopped and its thread has ended.
    public func join() {
        pthread_join(thread, nil)
    }
}

extension EventLoop {
    /// How many loops are worth having: one for each processor that this process may use. Wraps `sched_getaffinity`.
    public static var usefulCount: Int { Int(clinux_available_processors()) }
}

/// The argument of a new thread.
package final class ThreadStart: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    /// Starts a thread that is never joined.
    package static func detach(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        _ = try withThread(name: name, body) { pthread_detach($0) }
    }

    /// Starts a thread and hands its identity over.
    static func withThread<Result>(
        name: String, _ body: @escaping @Sendable () -> Void, _ use: (pthread_t) -> Result
    ) throws(SystemError) -> Result {
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                // pthread_create hands the argument on as it was given: the start retained above.
                guard let argument else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
                clinux_set_thread_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw SystemError("pthread_create", code: code)
        }
        return use(thread)
    }
}

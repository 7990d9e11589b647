import CLinux
import Glibc

/// The signals that end or reload a program, delivered to an event loop like anything else.
///
/// Wraps `signalfd`. Signals are blocked for the whole process, so `block(_:)` has to be called before any other
/// thread exists.
public final class Signals: EventHandler {
    private let descriptor: Descriptor
    private let handler: (Int32) -> Void

    /// Blocks the signals in the calling thread and those it starts, and ignores SIGPIPE: a write to a closed
    /// connection is an error like others.
    public static func block(_ signals: [Int32]) throws(SystemError) {
        var set = mask(signals)
        let code = pthread_sigmask(SIG_BLOCK, &set, nil)
        guard code == 0 else { throw SystemError("pthread_sigmask", code: code) }
        ignoreBrokenPipes()
    }

    /// Makes writing to a closed connection an error instead of the end of the process.
    public static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls the handler on the loop for each of the signals, until the loop ends.
    public init(_ signals: [Int32], on loop: EventLoop, handler: @escaping (Int32) -> Void) throws(SystemError) {
        var set = Self.mask(signals)
        descriptor = Descriptor(
            owning: try retryingInterrupts("signalfd") {
                signalfd(-1, &set, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
            })
        self.handler = handler
        _ = try loop.register(descriptor.raw, for: .readable, handler: self)
    }

    public func handle(_ readiness: Readiness) {
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while read(descriptor.raw, &information, size) == size { handler(Int32(information.ssi_signo)) }
    }

    private static func mask(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}

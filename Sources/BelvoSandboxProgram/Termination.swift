import Glibc
import Transport

/// The end that the system asks for.
enum Termination {
    /// Returns at the first SIGINT or SIGTERM, which must be blocked already. Runs on the loop.
    static func wait(on loop: EventLoop) async throws {
        let (signals, continuation) = AsyncStream<Int32>.makeStream()
        let watch = try Signals([SIGINT, SIGTERM], on: loop) { continuation.yield($0) }
        for await _ in signals { break }
        withExtendedLifetime(watch) {}
    }
}

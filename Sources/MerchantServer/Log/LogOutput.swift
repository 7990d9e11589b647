import Glibc
import Synchronization

/// A descriptor that gets each log line with one `write`.
///
/// A pipe whose reader has stopped must not stop the server. A line waits a moment for room; when there is none it is
/// dropped, those after it no longer wait, and the next one that gets through says how many were lost.
package final class LogOutput: Sendable {
    /// The process's standard output.
    package static let standardOutput = LogOutput(descriptor: STDOUT_FILENO)
    /// The process's standard error, for commands whose standard output is what they were asked for.
    package static let standardError = LogOutput(descriptor: STDERR_FILENO)

    private let descriptor: Int32
    /// How many lines were lost since the last one that was written. Locked while a line is written, because `poll` may
    /// report room to two threads although only one line fits.
    private let dropped = Mutex(0)

    /// How long the first line waits for room, in milliseconds: a busy reader makes room in that time.
    private static let roomWaitMilliseconds: Int32 = 20

    /// Takes a descriptor that stays open as long as the output; it is not closed here.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    func write(_ line: LogLine) {
        dropped.withLock { dropped in
            if hasRoom(within: dropped == 0 ? LogOutput.roomWaitMilliseconds : 0), put(line.finished(dropped: dropped))
            {
                dropped = 0
            } else {
                dropped += 1
            }
        }
    }

    /// Whether a line can be written without waiting. Wraps `poll`; a pipe says so when it has room for `PIPE_BUF`
    /// bytes, which is the longest line. One whose reader is gone has none, so that no SIGPIPE comes of it.
    private func hasRoom(within milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&request, 1, milliseconds)
            if count >= 0 { return count == 1 && request.revents == Int16(POLLOUT) }
            if errno != EINTR { return false }
        }
    }

    /// Writes the whole line, in one piece unless a disk is full or the like.
    private func put(_ line: [UInt8]) -> Bool {
        line.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if count == 0 || errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}

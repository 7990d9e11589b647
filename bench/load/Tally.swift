import Glibc
import Synchronization
import Transport

/// What was done since it was last asked for.
final class Tally: Sendable {
    private let count = Mutex(Count())

    func add(_ duration: Duration) {
        count.withLock { $0.durations.append(duration.wholeNanoseconds / 1_000) }
    }

    /// The first failure of a count is told on standard error: the others are most often the same.
    func addFailure(_ reason: String) {
        let isFirst = count.withLock { count in
            count.failures += 1
            return count.failures == 1
        }
        if isFirst { complain("load: \(reason)\n") }
    }

    /// Gives the count and begins a new one.
    func take() -> Count {
        count.withLock { count in
            var taken = Count()
            swap(&taken, &count)
            taken.elapsed = count.start - taken.start
            return taken
        }
    }
}

/// Deeds of a span of time.
struct Count {
    fileprivate(set) var start = Monotonic.now()
    fileprivate(set) var elapsed = Duration.zero
    /// In microseconds, of those that ended well.
    fileprivate(set) var durations: [Int64] = []
    fileprivate(set) var failures = 0

    /// `DONE FAILED ELAPSED_US P50_US P99_US`
    var line: String {
        let sorted = durations.sorted()
        let microseconds = elapsed.wholeNanoseconds / 1_000
        return "\(sorted.count) \(failures) \(microseconds) \(sorted.percentile(50)) \(sorted.percentile(99))"
    }
}

extension [Int64] {
    /// The smallest of these sorted values that so many in a hundred do not exceed; 0 of none.
    func percentile(_ percent: Int) -> Int64 {
        isEmpty ? 0 : self[Swift.max(0, (count * percent + 99) / 100 - 1)]
    }
}

/// Not by `fputs`: Glibc's `stderr` is a variable, which Swift does not let threads share.
private func complain(_ text: String) {
    // Lost when no process listens, and nothing could be done about it.
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}

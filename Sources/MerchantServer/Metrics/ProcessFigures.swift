import Glibc
import MerchantModel
import Transport

/// Figures of the system about this process. Where there is none, the figure is missing.
///
/// Wraps `/proc/self` (proc(5)), which is answered from memory: no disk is waited for.
enum ProcessFigures {
    /// Bytes in memory.
    static var residentBytes: Int? {
        guard let text = text(of: "/proc/self/statm") else { return nil }
        let words = text.split(separator: " ")
        return words.count > 1 ? Int(words[1]).map { $0 * pageBytes } : nil
    }

    /// Descriptors that are open. The directory's size gives it without reading it (Linux 6.2 and later).
    static var openDescriptors: Int? {
        FileStatus.size(of: "/proc/self/fd").flatMap { $0 > 0 ? $0 : countedDescriptors }
    }

    static var descriptorsMax: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// Processor time used. Wraps `clock_gettime(CLOCK_PROCESS_CPUTIME_ID)`.
    static var cpuTime: Duration { reading(CLOCK_PROCESS_CPUTIME_ID) }

    /// When the process started, since 1970, as far as the machine's clock was right when asked.
    static var startTime: Duration? {
        // The second field is the program's name and may hold blanks; the 22nd is the start in ticks since boot.
        guard let text = text(of: "/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
        let words = text[end...].split(separator: " ")
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        guard words.count > 20, let ticks = Int64(words[20]), ticksPerSecond > 0 else { return nil }
        let age = reading(CLOCK_BOOTTIME) - .milliseconds(ticks * 1_000 / ticksPerSecond)
        return reading(CLOCK_REALTIME) - age
    }

    private static let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

    private static func text(of path: String) -> String? {
        // A system without it is one on which nothing can be said.
        (try? SmallFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    private static var countedDescriptors: Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without the directory itself, its parent, and the descriptor that reads it.
        return count - 3
    }

    private static func reading(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

import Glibc

/// How many descriptors this process may have open: each connection is one.
public enum DescriptorLimit {
    /// How many that is now. Wraps `getrlimit(RLIMIT_NOFILE)`.
    public static var present: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// Takes as many as the system allows without privileges, which is often more than a process begins with.
    /// Wraps `setrlimit(RLIMIT_NOFILE)`.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // What is not allowed stays as it was: connections beyond it wait until others close.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

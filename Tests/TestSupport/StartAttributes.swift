import Glibc

/// Gives the body the attributes of a process that blocks no signal, whatever the thread blocks that starts it.
///
/// Wraps `posix_spawnattr_t`. The threads of a pool block signals, and what they start would never hear SIGTERM.
public func withStartAttributes<Result>(_ body: (inout posix_spawnattr_t) -> Result) -> Result {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    return body(&attributes)
}

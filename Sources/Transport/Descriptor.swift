import Glibc

/// An open file descriptor with one owner, who closes it by letting go of it.
///
/// Wraps `close`. It cannot be copied, so closing twice, which would close another owner's descriptor,
/// does not compile.
public struct Descriptor: ~Copyable, Sendable {
    public let raw: Int32

    /// Takes over a descriptor that no other owner will close.
    public init(owning raw: Int32) {
        precondition(raw >= 0, "a descriptor is not negative")
        self.raw = raw
    }

    deinit {
        // EINTR after close leaves the descriptor closed on Linux: calling again could hit another one.
        _ = close(raw)
    }

    /// Gives the descriptor away without closing it.
    public consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }
}

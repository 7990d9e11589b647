import CLinux

/// Turns core dumps off: keys, tokens and tax numbers in memory must not reach a disk.
public enum CoreDumps {
    /// Makes the kernel write no core dump of this process, and lets no other process read its memory. Wraps
    /// `prctl(PR_SET_DUMPABLE)`.
    public static func forbid() {
        // It cannot fail with this argument (prctl's manual page).
        _ = clinux_forbid_core_dumps()
    }
}

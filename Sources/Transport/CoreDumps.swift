import CLinux

/// What the process keeps in memory is not for files on a disk: keys, tokens, tax numbers.
public enum CoreDumps {
    /// Makes the kernel write none for this process, and lets no other process read its memory. Wraps
    /// `prctl(PR_SET_DUMPABLE)`.
    public static func forbid() {
        // It cannot fail with this argument (prctl's manual page).
        _ = clinux_forbid_core_dumps()
    }
}

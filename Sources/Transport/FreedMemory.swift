import CLinux

/// Memory that was freed and that the allocator keeps for later.
public enum FreedMemory {
    /// Gives it back to the system, page by page as far as whole pages are free. Wraps `malloc_trim`.
    ///
    /// It reads all that is free, which takes milliseconds where there is much.
    public static func giveBack() {
        clinux_give_memory_back()
    }
}

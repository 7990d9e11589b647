import CLinux

/// The metadata of a file. Wraps `stat`, whose answer Swift's own module does not show where
/// the program is linked statically.
package enum FileStatus {
    /// Its size in bytes; nil where nothing is at the path, or nothing may be said of it.
    package static func size(of path: String) -> Int? {
        let size = clinux_size(path)
        return size < 0 ? nil : Int(size)
    }

    /// Whether everybody on this machine may read it.
    package static func isReadableByAll(_ path: String) -> Bool { clinux_is_readable_by_all(path) }
}

import Glibc
import Transport

/// A file that is read whole at once: settings, a secret, a key set.
package enum SmallFile {
    /// Far more than any of them has, in bytes.
    static let bytesMax = 1_048_576

    /// Reads everything there is, also from a pipe. It blocks: not for an event loop's thread once the server runs.
    ///
    /// Wraps `open` and `read`.
    package static func read(_ path: String) throws(SmallFileFault) -> [UInt8] {
        let raw = open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { throw .unreadable(SystemError("open", code: errno)) }
        let descriptor = Descriptor(owning: raw)
        var bytes: [UInt8] = []
        while true {
            let part = try nextPart(of: descriptor.raw)
            guard !part.isEmpty else { return bytes }
            bytes.append(contentsOf: part)
            guard bytes.count <= bytesMax else { throw .tooLarge }
        }
    }

    private static func nextPart(of raw: Int32) throws(SmallFileFault) -> [UInt8] {
        var code: Int32 = 0
        let part = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var result: Int
            repeat { result = Glibc.read(raw, buffer.baseAddress, buffer.count) } while result < 0 && errno == EINTR
            if result < 0 { code = errno }
            count = max(result, 0)
        }
        guard code == 0 else { throw .unreadable(SystemError("read", code: code)) }
        return part
    }
}

/// Why a file's content was not had. It names neither the file nor anything in it.
package enum SmallFileFault: Error, Equatable, Sendable, CustomStringConvertible {
    case unreadable(SystemError)
    case tooLarge

    package var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .tooLarge: "the file has more than \(SmallFile.bytesMax) bytes"
        }
    }
}

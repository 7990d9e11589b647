import Glibc
import Transport

/// Whole files of text.
enum TextFile {
    /// What a file holds; nothing when it is not there.
    static func read(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a file anew, or what comes behind what it holds.
    static func write(_ text: String, to path: String, appending: Bool = false) throws {
        guard let file = fopen(path, appending ? "ae" : "we") else { throw SystemError("fopen", code: errno) }
        fputs(text, file)
        fclose(file)
    }

    /// The last lines of a file, for messages.
    static func end(of path: String, lines: Int = 15) -> String {
        read(path).split(separator: "\n").suffix(lines).map { "    \($0)" }.joined(separator: "\n")
    }

    /// The names in a directory.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}

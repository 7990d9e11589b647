import Glibc

/// Where a phone lies between two runs of a program: a file that only its owner may read.
public struct PhoneFile: Sendable {
    public let path: String

    public init(path: String) {
        self.path = path
    }

    /// The phone that lies there, or a new one where there is no file yet.
    public func load() throws(PhoneError) -> Phone {
        guard access(path, F_OK) == 0 else { return Phone() }
        return try Phone(json: Self.contents(of: path))
    }

    /// Puts the phone there, in place of what was there.
    ///
    /// Written beside it first and then renamed, so that a program that ends in the middle loses no key.
    public func save(_ phone: Phone) throws(PhoneError) {
        let text = try phone.json()
        let draft = path + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .errno(draft) }
        let written = write(file, text, text.count)
        guard close(file) == 0, written == text.count, rename(draft, path) == 0 else { throw .errno(draft) }
    }

    /// A whole file's bytes, or those of standard input for `-`.
    public static func contents(of path: String) throws(PhoneError) -> [UInt8] {
        let file = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .errno(path) }
        defer { if file != STDIN_FILENO { close(file) } }
        var contents: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(file, &piece, piece.count)
            guard count >= 0 else { throw .errno(path) }
            if count == 0 { return contents }
            contents += piece[..<count]
        }
    }
}

extension PhoneError {
    fileprivate static func errno(_ path: String) -> PhoneError {
        .file("\(path): \(String(cString: strerror(Glibc.errno)))")
    }
}

import FoundationEssentials

/// The checkout that these tests stand in, as text.
enum Checkout {
    /// The nearest directory above this file that holds the package.
    static let root: String = {
        var directory = #filePath
        while let slash = directory.lastIndex(of: "/") {
            directory = String(directory[..<slash])
            if FileManager.default.fileExists(atPath: directory + "/Package.swift") { return directory }
        }
        preconditionFailure("There is no Package.swift above \(#filePath).")
    }()

    /// Everything people write here, except prose: read once.
    static let files: [TextFile] = {
        let names = [
            "Sources", "Tests", "fuzz/Properties", "fuzz/dictionaries", "examples", "bench", "migrations", "contract",
            "config", "scripts", "chaos", "deploy", "Plugins",
        ]
        let folders = names.flatMap { texts(under: $0) }
        let single = ["Package.swift", "dev", ".ci/run", "Dockerfile", "docker-compose.yml"].compactMap { text(at: $0) }
        return folders + single
    }()

    static let swiftFiles: [TextFile] = files.filter { $0.path.hasSuffix(".swift") }

    /// The file at a path from the root, if there is one that is UTF-8.
    static func text(at path: String) -> TextFile? {
        guard let bytes = FileManager.default.contents(atPath: root + "/" + path),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return TextFile(path: path, text: text)
    }

    /// The names in a directory of the checkout, sorted; none when it does not exist.
    static func names(in folder: String) -> [String] {
        // Nothing is lost: the only failure is a folder that is not there.
        ((try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)) ?? []).sorted()
    }

    private static func texts(under folder: String) -> [TextFile] {
        // Nothing is lost: as above.
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)) ?? []
        return paths.sorted().compactMap { text(at: folder + "/" + $0) }
    }
}

/// One file and its lines.
struct TextFile: Sendable {
    /// From the root of the checkout.
    let path: String
    let lines: [Substring]

    init(path: String, text: String) {
        self.path = path
        // A file ends with a line feed, which begins no further line.
        let body = text.last == "\n" ? text.dropLast() : text[...]
        lines = body.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// `MerchantAPI` of `Sources/MerchantAPI/API/Router.swift`.
    var target: Substring? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? parts[1] : nil
    }
}

/// One place where a rule is broken.
struct Finding: CustomStringConvertible, Sendable {
    let path: String
    /// Counted from 1; nil when the whole file is meant.
    let line: Int?
    let message: String

    var description: String { "\(path)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

import FoundationEssentials
import HTTP

/// The files of the page, read from their directory at each request: a developer who changes one sees it at once.
struct Page: Sendable {
    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    ]

    let directory: String

    /// A file by its path in the address; nil where there is none.
    func file(_ path: String) -> (body: [UInt8], type: String)? {
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        // Names in this directory, and none that leads out of it.
        guard name.utf8.allSatisfy({ $0 == 0x2E || (0x61...0x7A).contains($0) }), !name.contains(".."),
            let type = name.split(separator: ".").last.flatMap({ Page.types[String($0)] })
        else { return nil }
        // What cannot be read is not there.
        guard let data = try? Data(contentsOf: URL(filePath: "\(directory)/\(name)")) else { return nil }
        return (Array(data), type)
    }
}

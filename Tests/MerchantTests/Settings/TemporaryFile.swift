import Glibc
import Testing

/// A file of one test, gone when the test lets go of it.
final class TemporaryFile: Sendable {
    let path: String

    init(_ text: String) throws {
        var template = Array("/tmp/merchant-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        close(descriptor)
        path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        try write(text)
    }

    deinit {
        unlink(path)
    }

    func write(_ text: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        #expect(fclose(file) == 0)
    }

    func remove() {
        unlink(path)
    }
}

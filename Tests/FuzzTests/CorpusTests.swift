import FoundationEssentials
import FuzzProperties
import Testing

/// The fuzzer's corpus against the promises that the fuzzer checks, so that they hold without a fuzzer too.
struct CorpusTests {
    @Test(arguments: FuzzTarget.allCases)
    func `every file of the corpus keeps the promises`(target: FuzzTarget) throws {
        let files = try FuzzCorpus.files(of: target)
        #expect(files.count >= 24)
        for (name, bytes) in files {
            #expect(target.findBrokenPromise(bytes) == nil, "fuzz/corpus/\(target)/\(name)")
        }
    }

    @Test(arguments: FuzzTarget.allCases)
    func `the corpus is small, and a folder of it belongs to every target`(target: FuzzTarget) throws {
        for (name, bytes) in try FuzzCorpus.files(of: target) { #expect(bytes.count <= 600, "\(name)") }
        #expect(Set(try FuzzCorpus.folders()) == Set(FuzzTarget.allCases.map(\.rawValue)))
    }
}

/// The files from which the fuzzer begins.
enum FuzzCorpus {
    private static let root: String = {
        let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return folders.joined(separator: "/") + "/fuzz/corpus"
    }()

    static func folders() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root)
    }

    static func files(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = root + "/" + target.rawValue
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { name in
            (name, Array(try #require(FileManager.default.contents(atPath: folder + "/" + name))))
        }
    }
}

import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// systemd's own judge of units.
private enum SystemdAnalyzer {
    static let path = "/usr/bin/systemd-analyze"
    static var isThere: Bool { access(path, X_OK) == 0 }
}

/// `deploy/systemd`, judged by systemd's own tool. `./dev package` starts the units in earnest.
@Suite(.enabled(if: SystemdAnalyzer.isThere, "systemd-analyze is missing; on Debian, install systemd"))
struct SystemdUnitTests {
    private static let names = [
        "merchant.service", "merchant-migrate.service", "merchant.socket", "merchant-admin.socket",
    ]

    @Test func `systemd reads every unit without a complaint, with every drop-in`() throws {
        try Self.withUnits { folder in
            let run = try Self.analyze(["verify", "--man=no"] + Self.names.map { "\(folder)/\($0)" }, in: folder)
            #expect(run.code == 0 && run.errors == "", "\(run)")
        }
    }

    @Test func `a unit that systemd does not understand is noticed`() throws {
        try Self.withUnits { folder in
            let path = "\(folder)/merchant.service"
            let text = try Self.text(at: path).replacing("NoNewPrivileges=yes", with: "NoNewPrivilege=yes")
            try Self.write(text, to: path)
            let run = try Self.analyze(["verify", "--man=no", path], in: folder)
            #expect(run.errors.contains("NoNewPrivilege"), "\(run)")
        }
    }

    @Test(arguments: ["merchant.service", "merchant-migrate.service"])
    func `what the program can reach is little, and stays so`(name: String) throws {
        try Self.withUnits { folder in
            // Times ten: an exposure of 2.0 is the most.
            let words = ["security", "--offline=true", "--no-pager", "--threshold=20", "\(folder)/\(name)"]
            let run = try Self.analyze(words, in: folder)
            #expect(run.code == 0, "\(run)")
            #expect(run.output.contains("Overall exposure level for \(name): "), "\(run)")
            // The tool says no to a unit without these.
            let bare = "[Service]\nExecStart=/bin/true\n"
            try Self.write(bare, to: "\(folder)/\(name)")
            #expect(try Self.analyze(words, in: folder).code != 0)
        }
    }

    @Test func `the service and its migrations run with the same secrets and the same rights`() throws {
        func lines(_ name: String) throws -> Set<Substring> {
            let text = try Self.text(at: "\(Self.source)/\(name)")
            let names = [
                "LoadCredential", "Environment", "User", "NoNew", "Protect", "Private", "RestrictA", "RestrictN",
                "System", "Capab", "Memory", "NoExec", "ExecPaths",
            ]
            return Set(text.split(separator: "\n").filter { line in names.contains(where: line.hasPrefix) })
        }
        let service = try lines("merchant.service")
        #expect(service.count > 30)
        // Migrating may take more memory than serving.
        #expect(try service.subtracting(lines("merchant-migrate.service")) == ["MemoryMax=1G"])
    }

    private static let source: String = {
        var folder = #filePath
        for _ in 0..<4 { folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)]) }
        return folder + "/deploy/systemd"
    }()

    /// Copies of the units that start a program which is there, with all drop-ins beside them.
    private static func withUnits(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/units.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let files = FileManager.default
        defer { try? files.removeItem(atPath: folder) }
        for name in names {
            let unit = try text(at: "\(source)/\(name)")
                .replacing("/usr/bin/merchant ", with: "/bin/true ")
            try write(unit, to: "\(folder)/\(name)")
            guard name.hasSuffix(".service") else { continue }
            try files.createDirectory(atPath: "\(folder)/\(name).d", withIntermediateDirectories: false)
            for dropIn in try files.contentsOfDirectory(atPath: "\(source)/drop-ins") {
                let text = try Self.text(at: "\(source)/drop-ins/\(dropIn)")
                try write(text, to: "\(folder)/\(name).d/\(dropIn)")
            }
        }
        try body(folder)
    }

    private static func analyze(_ words: [String], in folder: String) throws -> ProgramRun {
        try ProgramRun(
            [SystemdAnalyzer.path] + words, environment: ["SYSTEMD_UNIT_PATH": "\(folder):", "LC_ALL": "C.UTF-8"])
    }

    private static func text(at path: String) throws -> String {
        try String(contentsOf: URL(filePath: path), encoding: .utf8)
    }

    private static func write(_ text: String, to path: String) throws {
        try text.write(to: URL(filePath: path), atomically: false, encoding: .utf8)
    }
}

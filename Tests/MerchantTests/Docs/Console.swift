import FoundationEssentials
import Glibc
import MerchantModel
import MerchantServer
import RegexBuilder
import TestSupport
import Testing

/// A reader's terminal: a directory that looks like the checkout after `./dev run`, with the harness in its place.
///
/// `curl` goes to the harness where a document names the demo's address, `./dev` knows the commands of the demo that
/// documents use, and the phone is the program itself. All else is what the machine has.
struct Console {
    private let folder = FileManager.default.temporaryDirectory.path + "/console-" + UUID().uuidString
    /// The output of the commands of the last block.
    private(set) var bodies: [[UInt8]] = []

    init(on harness: TestHarness) throws {
        for name in ["", "/bin", "/tokens", "/.build/release"] {
            try FileManager.default.createDirectory(
                atPath: folder + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try write(
            "bin/curl",
            """
            #!/usr/bin/env bash
            PATH=${PATH#*:}
            exec curl --noproxy '*' --connect-to 127.0.0.1:8080:\(harness.addresses.api) "$@"
            """)
        try write(
            "dev",
            """
            #!/usr/bin/env bash
            case $1 in
            token) cat "\(folder)/tokens/$2" ;;
            psql) exec psql --no-psqlrc '\(harness.settings.databaseURL.text)' "${@:2}" ;;
            *) echo "./dev $1 is nothing that documents use" >&2; exit 64 ;;
            esac
            """)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let products = program[..<(program.lastIndex(of: "/") ?? program.endIndex)]
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/.build/release/phone", withDestinationPath: "\(products)/phone")
        try write("state", "")
    }

    func remove() throws { try FileManager.default.removeItem(atPath: folder) }

    /// Runs a block's commands in one shell, with the variables and functions of the blocks before, and says what they
    /// printed otherwise than shown.
    mutating func play(_ commands: [Guide.Command], on harness: TestHarness) async throws -> [String] {
        for subject in ["ana", "bia"] {
            try write("tokens/\(subject)", try #require(try await harness.app(of: subject).token))
        }
        let variables = commands.compactMap { $0.text.prefixMatch(of: /[a-z_]+(?==)/).map { String($0.output) } }
        let lines = commands.map { "\($0.text)\nprintf '\\036\\n'\n" }.joined()
        try write(
            "script",
            """
            cd \(folder); PATH=\(folder)/bin:$PATH; exec >output 2>&1; . ./state
            \(lines)
            { declare -f\(variables.map { "; declare -p \($0)" }.joined()); } >>state
            """)
        let script = "\(folder)/script"
        try await onThread { try runCommand(["/usr/bin/env", "bash", script]) }
        let printed = String(
            decoding: FileManager.default.contents(atPath: folder + "/output") ?? Data(), as: UTF8.self)
        let outputs = printed.replacing("\r", with: "").split(separator: "\u{1e}\n", omittingEmptySubsequences: false)
        bodies = outputs.map { Array($0.utf8) }
        var differences: [String] = []
        for (command, output) in zip(commands, outputs) where try !Self.isAsShown(command.output, output) {
            differences.append("$ \(command.text)\n\(output)")
        }
        return differences
    }

    /// Whether that was printed: ids, times and random texts may be others of their kind, and `…` is anything.
    static func isAsShown(_ shown: [String], _ printed: Substring) throws -> Bool {
        var pattern = ""
        var rest = trimmed(shown.joined(separator: "\n"))[...]
        while let piece = rest.firstMatch(of: volatile) {
            pattern += Bindings.escaped(rest[..<piece.range.lowerBound])
            let text = piece.output
            switch true {
            case text.contains("…"): pattern += "(?s:.*?)"
            case text.contains(":"): pattern += #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"#
            case text.utf8.count == 32: pattern += "E[A-Za-z0-9]{31}"
            case text.utf8.count == 10: pattern += #"\d{4}-\d\d-\d\d"#
            case text.utf8.count == 36: pattern += "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
            default: pattern += "[A-Za-z0-9_-]{43}"
            }
            rest = rest[piece.range.upperBound...]
        }
        pattern += Bindings.escaped(rest)
        return try Regex(pattern).wholeMatch(in: trimmed(String(printed))) != nil
    }

    /// An id that is cut short, a whole one, a moment, a day, an end-to-end id, or 32 random bytes in base64url.
    private static var volatile: Regex<Substring> {
        Regex {
            ChoiceOf {
                /[0-9a-f]{8}-[0-9a-f-]*…/
                /[ ]?… ?/
                /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/
                /\d{4}-\d\d-\d\d(?:T[0-9:.]+Z)?/
                /E\d[A-Za-z0-9]{30}/
                /[A-Za-z0-9_-]{43}/
            }
        }
    }

    /// Without the blanks that end lines, and the lines that end texts.
    private static func trimmed(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var line = line
            while line.last == " " { line.removeLast() }
            return String(line)
        }.joined(separator: "\n").trimmingWhiteSpace
    }

    private func write(_ name: String, _ text: String) throws {
        let path = "\(folder)/\(name)"
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)), chmod(path, 0o700) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}

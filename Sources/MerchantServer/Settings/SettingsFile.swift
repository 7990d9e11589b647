import MerchantModel
import Transport

/// Settings as a file holds them: one `NAME=value` a line, comments behind `#` at a line's beginning.
///
/// The value is what stands behind the first `=` without the blanks around it: no quotes, no escapes, no variables,
/// no comment behind it, so that a password may hold any of these signs. What is wrong is kept beside what is right,
/// to be reported together with all else that is wrong with the settings.
package struct SettingsFile: Sendable {
    /// The values of the file by name. Redacted like the secrets among them.
    private(set) var values: [String: Secret] = [:]
    private(set) var problems: [SettingsProblem] = []
    /// Whether everybody on this machine may read it.
    private(set) var isReadableByAll = false

    /// No file.
    package init() {}

    /// Reads a file's text.
    package static func parse(_ text: String) -> SettingsFile {
        var file = SettingsFile()
        // A carriage return and a line feed are one character to Swift, and two scalars here.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            file.add(Substring(line).trimmingBlanks(), number: index + 1)
        }
        return file
    }

    /// Reads the file at a path. Throws when it cannot be read.
    package static func read(_ path: String) throws(SmallFileFault) -> SettingsFile {
        let bytes = try SmallFile.read(path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            var file = SettingsFile()
            file.problems.append(SettingsProblem("the file", .malformed, "is not UTF-8 text"))
            return file
        }
        var file = parse(text)
        file.isReadableByAll = FileStatus.isReadableByAll(path)
        return file
    }

    private mutating func add(_ line: Substring, number: Int) {
        guard !line.isEmpty, !line.hasPrefix("#") else { return }
        // What is no name may be a part of a secret, so such a line is known by its number alone.
        guard let sign = line.firstIndex(of: "="), line[..<sign].isSettingName else {
            problems.append(SettingsProblem("line \(number)", .malformed, "is not NAME=value"))
            return
        }
        let name = String(line[..<sign])
        let value = line[line.index(after: sign)...].trimmingBlanks()
        if values.updateValue(Secret(String(value)), forKey: name) != nil {
            problems.append(SettingsProblem(name, .contradictory, "stands in the file twice"))
        }
    }
}

extension Substring {
    fileprivate var isSettingName: Bool {
        guard let first = utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return false }
        return utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}

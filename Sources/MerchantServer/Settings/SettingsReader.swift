import MerchantModel
import Transport

/// Reads settings by name, remembering everything that is wrong with them.
///
/// The environment wins over the file, name by name. Nothing stops at the first fault: what could not be read is nil,
/// and `fault` lists all of it in the end.
final class SettingsReader {
    private let environment: [String: String]
    private let file: SettingsFile
    private var problems: [SettingsProblem] = []
    private var weaknesses: [SettingsProblem] = []

    init(environment: [String: String], file: SettingsFile) {
        self.environment = environment
        self.file = file
    }

    /// A setting that there has to be.
    func required<Value>(_ name: SettingName, _ form: SettingForm<Value>) -> Value? {
        if !isGiven(name) { add(name, .missing, "is missing: expected \(form.expectation)") }
        return optional(name, form)
    }

    /// A setting without which there is nothing.
    func optional<Value>(_ name: SettingName, _ form: SettingForm<Value>) -> Value? {
        guard let text = text(of: name) else { return nil }
        guard let value = form.parse(text) else {
            add(name, .malformed, "is malformed: expected \(form.expectation)")
            return nil
        }
        return value
    }

    /// A setting with a default. A malformed one gives the default too, beside its problem.
    func optional<Value>(_ name: SettingName, _ form: SettingForm<Value>, default value: Value) -> Value {
        optional(name, form) ?? value
    }

    /// Whether anything at all was given under the name, right or wrong.
    func isGiven(_ name: SettingName) -> Bool {
        let names = [name.rawValue, name.fileVariant]
        return names.contains { $0.map { environment[$0] != nil || file.values[$0] != nil } ?? false }
    }

    /// Two settings that make sense only together.
    func requireTogether(_ one: SettingName, _ other: SettingName) {
        for (missing, given) in [(one, other), (other, one)] where isGiven(given) && !isGiven(missing) {
            add(missing, .missing, "is missing: \(given.rawValue) needs it")
        }
    }

    /// Settings of which there has to be one, and no more.
    func requireExactlyOne(of names: [SettingName]) {
        let given = names.filter(isGiven)
        let list = names.map(\.rawValue).joined(separator: ", ")
        if given.isEmpty { add(names[0], .missing, "is missing: expected one of \(list)") }
        for name in given.dropFirst() {
            add(name, .contradictory, "contradicts \(given[0].rawValue): expected one of \(list)")
        }
    }

    func add(_ name: SettingName, _ kind: SettingsProblem.Kind, _ message: String) {
        problems.append(SettingsProblem(name.rawValue, kind, message))
    }

    /// Remembers what works and should be otherwise.
    func warn(_ name: String, _ message: String) {
        weaknesses.append(SettingsProblem(name, .weak, message))
    }

    /// Warns of a file with a secret in it that everybody on this machine may read.
    func warnIfReadable(_ path: String, named name: String) {
        if FileStatus.isReadableByAll(path) { warn(name, "names a file that every user of this machine may read") }
    }

    /// All that works and should be otherwise.
    var warnings: [SettingsProblem] {
        let secrets = SettingName.secrets.filter { file.values[$0.rawValue] != nil && environment[$0.rawValue] == nil }
        guard file.isReadableByAll, let first = secrets.first else { return weaknesses }
        return weaknesses + [
            SettingsProblem(
                "the file", .weak, "holds secrets such as \(first.rawValue), and every user of this machine may read it"
            )
        ]
    }

    /// All that is wrong, with the file's own faults and unknown names; nil when nothing is.
    var fault: SettingsFault? {
        let known = Set(SettingName.allSpellings)
        let unknown = file.values.keys.filter { !known.contains($0) }.sorted().map { name in
            let advice = SettingName.nearest(to: name).map { ": did you mean \($0)?" } ?? ""
            return SettingsProblem(name, .unknown, "is no setting\(advice)")
        }
        let all = file.problems + unknown + inDocumentedOrder(problems)
        return all.isEmpty ? nil : SettingsFault(problems: all)
    }

    private func inDocumentedOrder(_ problems: [SettingsProblem]) -> [SettingsProblem] {
        SettingName.allCases.flatMap { name in problems.filter { $0.name == name.rawValue } }
    }

    /// The value under the name or in the file that it names, in the environment or else in the settings file.
    private func text(of name: SettingName) -> String? {
        for source in [{ self.environment[$0] }, { self.file.values[$0]?.text }] as [(String) -> String?] {
            let value = source(name.rawValue)
            let path = name.fileVariant.flatMap(source)
            if value != nil, path != nil, let variant = name.fileVariant {
                add(name, .contradictory, "contradicts \(variant): expected one of the two")
                return nil
            }
            guard let given = value ?? path else { continue }
            guard !given.isEmpty else {
                // An empty value is more often a variable that was not filled than meant so.
                add(name, .malformed, value == nil ? "has an empty \(name.rawValue)_FILE" : "is empty")
                return nil
            }
            guard value == nil else { return value }
            if SettingName.secrets.contains(name) { warnIfReadable(given, named: name.fileVariant ?? name.rawValue) }
            return contents(of: given, for: name)
        }
        return nil
    }

    private func contents(of path: String, for name: SettingName) -> String? {
        do {
            let bytes = try SmallFile.read(path)
            guard let text = String(validating: bytes, as: UTF8.self)?[...].trimmingBlanks() else {
                add(name, .malformed, "has a file that is not UTF-8 text")
                return nil
            }
            guard !text.isEmpty else {
                add(name, .malformed, "has a file that is empty")
                return nil
            }
            return String(text)
        } catch {
            add(name, .malformed, "has a file that cannot be read (\(error))")
            return nil
        }
    }
}

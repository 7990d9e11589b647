/// A page in Prometheus' text format 0.0.4, read as strictly as the format's description allows: whatever a lenient
/// reader would guess is a fault here.
struct Exposition: Sendable {
    struct Family: Sendable {
        let name: String
        let help: String
        let kind: String
        var samples: [Sample] = []
    }

    struct Sample: Sendable, Hashable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    struct Fault: Error, CustomStringConvertible {
        let line: String
        let reason: String
        var description: String { "\(reason): \(line)" }
    }

    private(set) var families: [Family] = []

    init(parsing text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(line: "", reason: "the last line does not end") }
        var seen: Set<String> = []
        var help: (name: String, text: String)?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) {
            func fault(_ reason: String) -> Fault { Fault(line: line, reason: reason) }
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            if line.hasPrefix("# HELP ") {
                guard words.count == 4, Self.isName(words[2]), help == nil else { throw fault("a wrong HELP") }
                help = (words[2], words[3])
            } else if line.hasPrefix("# TYPE ") {
                guard words.count == 4, let text = help?.text, help?.name == words[2] else {
                    throw fault("TYPE without HELP")
                }
                guard ["counter", "gauge", "histogram"].contains(words[3]) else { throw fault("an unknown type") }
                guard !families.contains(where: { $0.name == words[2] }) else { throw fault("a metric in two groups") }
                families.append(Family(name: words[2], help: text, kind: words[3]))
                help = nil
            } else {
                guard help == nil, let family = families.last else { throw fault("a sample of nothing") }
                let sample = try Self.sample(line)
                let names =
                    family.kind == "histogram" ? ["_bucket", "_sum", "_count"].map { family.name + $0 } : [family.name]
                guard names.contains(sample.name) else { throw fault("a sample of another metric") }
                guard (sample.name.hasSuffix("_bucket")) == (sample.labels["le"] != nil) else {
                    throw fault("le misplaced")
                }
                guard family.kind == "gauge" || sample.value >= 0 else { throw fault("a count below zero") }
                let key = "\(sample.name) \(sample.labels.sorted { $0.key < $1.key })"
                guard seen.insert(key).inserted else { throw fault("a series twice") }
                families[families.count - 1].samples.append(sample)
            }
        }
        guard help == nil else { throw Fault(line: "", reason: "HELP without TYPE") }
        for family in families { try Self.check(family) }
    }

    subscript(name: String) -> Family? { families.first { $0.name == name } }

    /// The value of the series with exactly these labels.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.lazy.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private static func check(_ family: Family) throws {
        func fault(_ reason: String) -> Fault { Fault(line: family.name, reason: reason) }
        guard !family.samples.isEmpty else { throw fault("a metric without samples") }
        guard (family.kind == "counter") == family.name.hasSuffix("_total") else {
            throw fault("_total is for counters")
        }
        guard family.kind == "histogram" else { return }
        let series = Dictionary(grouping: family.samples) { $0.labels.filter { $0.key != "le" } }
        for (labels, samples) in series {
            let buckets = try samples.filter { $0.name.hasSuffix("_bucket") }.map {
                (bound: try number($0.labels["le"] ?? ""), count: $0.value)
            }
            let counts = samples.filter { $0.name.hasSuffix("_count") }
            guard samples.filter({ $0.name.hasSuffix("_sum") }).count == 1, counts.count == 1 else {
                throw fault("\(labels) has no sum or no count")
            }
            guard buckets.last?.bound == .infinity, buckets.last?.count == counts[0].value else {
                throw fault("\(labels) does not end with all")
            }
            for (lower, upper) in zip(buckets, buckets.dropFirst()) {
                guard lower.bound < upper.bound, lower.count <= upper.count else {
                    throw fault("\(labels) is not cumulative")
                }
            }
        }
    }

    /// `name{label="value",…} value`
    private static func sample(_ line: String) throws -> Sample {
        var rest = line[...]
        func fault(_ reason: String) -> Fault { Fault(line: line, reason: reason) }
        let name = String(rest.prefix { $0 != "{" && $0 != " " })
        guard isName(name) else { throw fault("a wrong name") }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = String(rest.prefix { $0 != "=" })
                guard isName(label), !label.contains(":") else { throw fault("a wrong label") }
                rest = rest.dropFirst(label.count)
                guard rest.hasPrefix("=\"") else { throw fault("a label without a quoted value") }
                rest = rest.dropFirst(2)
                var value = ""
                while let next = rest.popFirst(), next != "\"" {
                    guard next == "\\" else {
                        value.append(next)
                        continue
                    }
                    switch rest.popFirst() {
                    case "\\": value.append("\\")
                    case "\"": value.append("\"")
                    case "n": value.append("\n")
                    default: throw fault("a wrong escape")
                    }
                }
                guard labels.updateValue(value, forKey: label) == nil else { throw fault("a label twice") }
            } while rest.first == ","
            guard rest.popFirst() == "}" else { throw fault("labels that do not end") }
        }
        guard rest.popFirst() == " " else { throw fault("no blank before the value") }
        return Sample(name: name, labels: labels, value: try number(String(rest)))
    }

    private static func number(_ text: String) throws -> Double {
        if text == "+Inf" { return .infinity }
        guard let value = Double(text), text.first?.isNumber == true || text.first == "-" else {
            throw Fault(line: text, reason: "no number")
        }
        return value
    }

    private static func isName(_ text: String) -> Bool {
        text.wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*/) != nil
    }
}

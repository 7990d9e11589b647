import Invariants
import Transport

/// What a scenario has shown.
public struct Report: Sendable {
    /// What was done, in words.
    public let scenario: String
    /// What was done how often.
    public var deeds: String
    public var payments = 0
    public var paid = 0
    /// Paid or asked for twice.
    public var double: [String] = []
    /// What was promised and is not there.
    public var lost: [String] = []
    /// How much of it an app had got an answer about.
    public var forgotten = 0
    /// What has not come to its end.
    public var stuck: [String] = []
    /// What is otherwise not as it should be.
    public var wrong: [String] = []
    /// The longest time in which no app got a success.
    public var gap: Duration?
    /// How many differences `merchant reconcile` found.
    public var differences = 0
    /// Whether losing something is what it is there to show.
    public var isControl = false

    public init(_ scenario: String, deeds: String) {
        self.scenario = scenario
        self.deeds = deeds
    }

    mutating func take(_ violations: [Violation]) {
        for violation in violations {
            switch violation.kind {
            case .double: double.append(violation.text)
            case .lost: lost.append(violation.text)
            case .stuck: stuck.append(violation.text)
            case .wrong: wrong.append(violation.text)
            }
        }
    }

    /// Whether every promise was kept; for a control, whether the loss was noticed.
    public var isGood: Bool {
        if isControl { return forgotten > 0 }
        return double.isEmpty && lost.isEmpty && stuck.isEmpty && wrong.isEmpty && differences == 0
    }

    /// Everything that was found, one a line.
    public var findings: [String] {
        [("double", double), ("lost", lost), ("stuck", stuck), ("wrong", wrong)].flatMap { kind, texts in
            texts.prefix(20).map { "\(kind): \($0)" }
        }
    }

    /// The heading of a table of verdicts, as Markdown.
    public static let heading = """
        | scenario | what was done | payments | double | lost | stuck | wrong | longest gap | `merchant reconcile` |
        |---|---|---|---|---|---|---|---|---|
        """

    /// One row of that table.
    public var row: String {
        let gap = gap.map { "\(Self.tenths($0)) s" } ?? "–"
        let lost = isControl ? "**\(lost.count)**, \(forgotten) of them acknowledged" : "\(lost.count)"
        return "| \(scenario) | \(deeds) | \(payments), \(paid) paid | \(double.count) | \(lost) | \(stuck.count) | "
            + "\(wrong.count) | \(gap) | \(differences) differences |"
    }

    static func hundredths(_ seconds: Double) -> String {
        let hundredths = Int((seconds * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    static func tenths(_ duration: Duration) -> String {
        let tenths = (duration.wholeNanoseconds + 50_000_000) / 100_000_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

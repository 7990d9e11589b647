import Glibc
import Invariants

/// What came of many simulated days.
struct Report: CustomStringConvertible {
    private(set) var runs = 0
    private(set) var steps = 0
    private(set) var payments = 0
    private(set) var paid = 0
    private(set) var resendings = 0
    private(set) var faults: [Fault: Int] = [:]
    private(set) var broken: [Simulation.Outcome] = []

    mutating func take(_ outcome: Simulation.Outcome) {
        runs += 1
        steps += outcome.trace.count
        payments += outcome.payments
        paid += outcome.paid
        resendings += outcome.resendings
        faults.merge(outcome.faults, uniquingKeysWith: +)
        if !outcome.violations.isEmpty { broken.append(outcome) }
    }

    var description: String {
        var lines = [
            "\(runs) runs, \(steps) steps, \(payments) payments, of which \(paid) were paid; "
                + "\(resendings) calls sent again; faults:"
        ]
        for fault in Fault.allCases { lines.append("    \(faults[fault] ?? 0)  \(fault.rawValue)") }
        for outcome in broken {
            lines.append("seed \(outcome.seed):")
            lines += outcome.violations.map { "    \($0)" }
        }
        let violations = broken.flatMap(\.violations)
        lines.append(
            Violation.Kind.allCases.map { kind in
                "\(violations.count { $0.kind == kind }) \(kind.rawValue)"
            }.joined(separator: ", "))
        return lines.joined(separator: "\n")
    }
}

/// What the environment asks for.
enum Wanted {
    static let seed = number("SIMULATE_SEED")
    static let runs = number("SIMULATE_RUNS")
    static let first = number("SIMULATE_FIRST") ?? 1
    static let mutant = text("SIMULATE_MUTANT").flatMap { name in Mutant.all.first { $0.name == name } }

    private static func text(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func number(_ name: String) -> UInt64? { text(name).flatMap { UInt64($0) } }
}

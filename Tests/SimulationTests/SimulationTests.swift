import TestSupport
import Testing
import Transport

/// The short version of `./dev simulate`.
@Suite struct SimulationTests {
    @Test func `no payment is made twice and none is lost, whatever goes wrong`() async throws {
        var report = Report()
        for seed in UInt64(1)...12 { report.take(try await Simulation(seed: seed).run()) }
        #expect(report.broken.count == 0, "\(report)")
        #expect(report.paid > 0)
        #expect(report.resendings > 0)
        #expect(report.faults.values.reduce(0, +) > 100, "hardly anything went wrong")
    }

    @Test func `the same number plays the same day again`() async throws {
        for seed in UInt64(7)...8 {
            let (first, second) = (try await Simulation(seed: seed).run(), try await Simulation(seed: seed).run())
            let difference = zip(first.trace, second.trace).enumerated().first { $0.element.0 != $0.element.1 }
            #expect(difference == nil, "day \(seed), step \(difference.map { "\($0)" } ?? "")")
            #expect(first.trace.count == second.trace.count)
        }
    }
}

/// `./dev simulate` and `./dev simulate-mutants`, which say by the environment what they want.
@Suite struct SimulationProgram {
    @Test(.enabled(if: Wanted.seed != nil)) func `one day`() async throws {
        let outcome = try await Simulation(seed: try #require(Wanted.seed), mutant: Wanted.mutant).run()
        for line in outcome.trace { print(line) }
        var report = Report()
        report.take(outcome)
        print(report)
        #expect(outcome.violations == [])
    }

    @Test(.enabled(if: Wanted.runs != nil && Wanted.mutant == nil)) func `many days`() async throws {
        let runs = try #require(Wanted.runs)
        var report = Report()
        for seed in Wanted.first..<Wanted.first + runs {
            let outcome = try await Simulation(seed: seed).run()
            report.take(outcome)
            if !outcome.violations.isEmpty { print("seed \(seed): \(outcome.violations)") }
        }
        print(report)
        #expect(report.broken.count == 0)
    }

    @Test(.enabled(if: Wanted.runs != nil && Wanted.mutant != nil)) func `many days without a guard`() async throws {
        let (runs, mutant) = (try #require(Wanted.runs), try #require(Wanted.mutant))
        for seed in Wanted.first..<Wanted.first + runs {
            let outcome = try await Simulation(seed: seed, mutant: mutant).run()
            guard let violation = outcome.violations.first else { continue }
            return print("NOTICED \(mutant.name), on day \(seed - Wanted.first + 1), seed \(seed): \(violation)")
        }
        Issue.record("MISSED \(mutant.name), in \(runs) days")
    }
}

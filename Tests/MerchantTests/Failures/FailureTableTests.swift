import Belvo
import FoundationEssentials
import TestSupport
import Testing

/// `docs/belvo-failures.md` says of every call to Belvo and of everything that can go wrong with it what becomes of the
/// record, what the app is told, and what happens then. Here all of it happens.
@Suite struct FailureTableTests {
    private static let document = "docs/belvo-failures.md"

    /// Shorter than in use, so that what is late is so soon.
    private static let environment = [
        "BELVO_TIMEOUT_MS": "2000", "BELVO_TOKEN_REFRESH_PATH": "/payments/api/widget-token/refresh/",
    ]

    @Test func `what is written of a call's failures is what happens`() async throws {
        // All calls at a time, as many as there are stages: most of it is waiting for what is late.
        try await withThrowingDiscardingTaskGroup { group in
            for call in Call.allCases { group.addTask { try await Self.check(call) } }
        }
    }

    private static func check(_ call: Call) async throws {
        let rows = try await play(call)
        let lines = rows.isEmpty ? ["The server does not make this call."] : FailureRow.heading + rows.map(\.line)
        if let directory = ProcessInfo.processInfo.environment["FAILURE_TABLE_DIRECTORY"] {
            let text = "## \(call.rawValue)\n\n\(lines.joined(separator: "\n"))\n"
            try text.write(toFile: "\(directory)/\(call.rawValue).md", atomically: true, encoding: .utf8)
        }
        #expect(try section(call.rawValue) == lines, "\(call.rawValue)")
    }

    @Test func `the document has a section for every call, in order, and no other`() throws {
        let sections = try Guide.lines(of: Self.document).filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
        #expect(sections.map(String.init) == Call.allCases.map(\.rawValue))
    }

    /// Every mishap of a call, each to a user of its own.
    private static func play(_ call: Call) async throws -> [FailureRow] {
        let rows = LockedRows()
        // The list of banks is asked for once, and then kept.
        let batches = call == .listInstitutions ? Mishap.all.map { [$0] } : [Mishap.all]
        for batch in batches {
            try await TestHarness.open(environment: environment) { harness in
                for (number, mishap) in batch.enumerated() {
                    guard let scene = try await FailureScene(call, user: number, on: harness) else { return }
                    rows.append(try await scene.play(mishap, on: harness))
                }
            }
        }
        return rows.all
    }

    private static func section(_ name: String) throws -> [String] {
        let lines = try Guide.lines(of: document)
        guard let start = lines.firstIndex(of: "## \(name)") else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }.filter { !$0.isEmpty }
    }
}

/// Rows that a harness gives out.
private final class LockedRows: Sendable {
    private let content = Box<[FailureRow]>([])

    func append(_ row: FailureRow) { content.update { $0.append(row) } }

    var all: [FailureRow] { content.value }
}

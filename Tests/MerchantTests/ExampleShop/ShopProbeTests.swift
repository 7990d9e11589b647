import JSON
import TestSupport
import Testing

@testable import MerchantServer

/// `merchant probe --through-shop` as an operator runs it, and a visitor of the example shop in a real browser.
@Suite(
    .enabled(if: Chromium.path != nil, "\(Chromium.absence)"),
    .enabled(if: ShopDemo.isPossible, "the programs are not built"), .timeLimit(.minutes(5)))
struct ShopProbeTests {
    @Test func `a visitor pays R$ 0.01, and what docs/belvo-go-live.md promises is known`() async throws {
        let options = [
            "--name", "Rui Lima", "--identifier", "111.444.777-35", "--repeat-customer", "--repeat-steps",
        ]
        try await ShopVisitor.visit(.init(), probing: options) { visitor in
            try await visitor.enroll()
            try await visitor.press("#add-coffee")
            try await visitor.press("#to-cart")
            try await visitor.press("#pay")
            try await visitor.see(".told[data-state=paid]")
            #expect(try await visitor.text(of: ".amount").contains("0.01"))
            let report = try await visitor.demo.endProbe()
            let text = String(decoding: report.raw, as: UTF8.self)
            #expect(report["paid"]?.bool == true, "\(text)")
            #expect(report["belvo_dialect"]?.isNull == true)
            #expect(report["differences"]?.elements.compactMap(\.string) == [])
            let facts = report["unknown"]?.elements.compactMap { question in
                question["fact"]?.string == nil ? nil : question["number"]?.int64
            }
            // The stand-in has no limits, and so no fields of any.
            let promised = try Self.promised.subtracting([4])
            #expect(Set(facts ?? []) == promised, "\(text)")
            let calls = Set(report["answers"]?.elements.compactMap { $0["call"]?.string } ?? [])
            for type in ["ENROLLMENTS", "PAYMENT_INTENTS", "CHARGES", "TRANSACTIONS"] {
                #expect(calls.contains("webhook \(type)"), "\(calls)")
            }
            for secret in ["Rui", "Lima", "11144477735", "Ana", "Souza", "localhost", "sandbox-password", "eyJ"] {
                #expect(!text.contains(secret), "\(secret)")
            }
            #expect(visitor.complaints == [])
        }
    }

    /// The questions that become facts, by the table of the document; the last row has those that do not.
    private static var promised: Set<Int64> {
        get throws {
            let rows = try Guide.lines(of: "docs/belvo-go-live.md").drop { $0 != "| by | questions |" }.dropFirst(2)
                .prefix { $0.hasPrefix("|") }
            let numbers = rows.map { row in
                Set(row.matches(of: /\d+/).compactMap { Int64($0.output) })
            }
            let open = try #require(numbers.last)
            let known = numbers.dropLast().reduce(into: Set<Int64>()) { $0.formUnion($1) }
            #expect(known.isDisjoint(with: open) && known.union(open) == Set(1...20))
            #expect(known.count == 13 && open.count == 7)
            return known
        }
    }
}

import BelvoSandbox
import HTTP
import Postgres
import Testing

/// A state of the page behind the bank, and how a user gets there.
struct Scene: Sendable, CustomTestStringConvertible {
    let name: String
    /// The heading in each language.
    let headings: [String: String]
    var needsScriptsOff = false
    /// Whether the app should be opened by the page itself.
    var opensApp = false
    /// Plays up to the moment before the page is opened, and says where.
    let prepare: @Sendable (_ harness: TestHarness, _ client: inout AppClient) async throws -> String
    /// Puts right again what `prepare` has broken.
    var tidy: @Sendable (_ harness: TestHarness) async throws -> Void = { _ in }

    var testDescription: String { name }

    static let languages = ["pt-BR", "en", "es"]

    static let all = [
        Scene(
            name: "collecting",
            headings: ["pt-BR": "Endereço incompleto", "en": "Incomplete address", "es": "Dirección incompleta"],
            needsScriptsOff: true, prepare: { _, _ in "" }),
        Scene(
            name: "working", headings: ["pt-BR": "Estamos concluindo", "en": "Almost there", "es": "Casi listo"],
            prepare: { harness, client in
                let enrollment = try await client.startEnrollment()
                harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
                return "?\(Browser.form(try client.decide(enrollment)))"
            },
            // Belvo has asked for silence.
            tidy: { harness in try await harness.advance(by: .seconds(5)) }),
        Scene(
            name: "approved",
            headings: ["pt-BR": "Banco confirmado", "en": "Bank confirmed", "es": "Banco confirmado"], opensApp: true,
            prepare: { _, client in
                let enrollment = try await client.startEnrollment()
                return "?\(Browser.form(try client.decide(enrollment)))"
            }),
        Scene(
            name: "succeeded", headings: ["pt-BR": "Tudo pronto", "en": "All done", "es": "Todo listo"], opensApp: true,
            prepare: { harness, client in
                let enrollment = try await client.startEnrollment()
                let ticket = try await harness.ticket(for: client.decide(enrollment))
                try await client.finish(enrollment)
                return ticket
            }),
        Scene(
            name: "failed",
            headings: [
                "pt-BR": "Não foi possível concluir", "en": "This did not work", "es": "No se pudo completar",
            ], opensApp: true,
            prepare: { _, client in
                let enrollment = try await client.startEnrollment()
                return "?\(Browser.form(try client.decide(enrollment, .refuse)))"
            }),
        used("used", .approve, isFinished: false), used("used-succeeded", .approve, isFinished: true),
        used("used-failed", .refuse, isFinished: false),
        Scene(
            name: "unreadable",
            headings: ["pt-BR": "Endereço incompleto", "en": "Incomplete address", "es": "Dirección incompleta"],
            prepare: { _, _ in "?code=alone" }),
        Scene(
            name: "expired",
            headings: ["pt-BR": "Esta página expirou", "en": "This page has expired", "es": "Esta página venció"],
            prepare: { harness, client in
                let enrollment = try await client.startEnrollment()
                let ticket = try await harness.ticket(for: client.decide(enrollment))
                try await harness.advance(by: .seconds(901))
                return ticket
            }),
        Scene(
            name: "unavailable",
            headings: ["pt-BR": "Só um momento", "en": "Just a moment", "es": "Un momento"],
            prepare: { harness, client in
                let enrollment = try await client.startEnrollment()
                let query = "?\(Browser.form(try client.decide(enrollment)))"
                try await harness.loseReceipts()
                return query
            }, tidy: { try await $0.findReceipts() }),
    ]

    private static func used(_ name: String, _ decision: BankDecision, isFinished: Bool) -> Scene {
        Scene(
            name: name,
            headings: [
                "pt-BR": "Este link já foi usado", "en": "This link was already used", "es": "Este enlace ya se usó",
            ],
            prepare: { harness, client in
                let enrollment = try await client.startEnrollment()
                let reply = try client.decide(enrollment, decision)
                _ = try await harness.browser().follow(reply)
                if isFinished { try await client.finish(enrollment) }
                return "?\(Browser.form(reply))"
            })
    }
}

extension TestHarness {
    static let appLink = "shop://pix?from=bank"

    /// The callback's address with this behind it.
    func address(_ query: String) -> String { origin + Browser.path + query }

    /// Follows the bank's redirect, and gives the query under which its page asks again.
    func ticket(for reply: BankReply) async throws -> String {
        let page = try await browser().follow(reply)
        return try #require(page.ticket, "\(page.text)")
    }

    /// Makes every statement about redirects fail, as when the database is in trouble.
    func loseReceipts() async throws {
        try await database.execute("ALTER TABLE redirect_receipts RENAME TO redirect_receipts_lost")
    }

    func findReceipts() async throws {
        try await database.execute("ALTER TABLE redirect_receipts_lost RENAME TO redirect_receipts")
    }

    /// Plays the body with a browser beside the harness and a user who is known.
    static func browse(
        environment changes: [String: String] = [:],
        _ body: @escaping @Sendable (TestHarness, Chromium, inout AppClient) async throws -> Void
    ) async throws {
        let environment = ["APP_DEEP_LINK": appLink].merging(changes) { $1 }
        try await open(environment: environment) { harness in
            var client = try await AppClient.arrive(on: harness)
            try await Chromium.open { chromium in try await body(harness, chromium, &client) }
        }
    }
}

extension Answer {
    /// The query with the ticket, where a page has one.
    var ticket: String? {
        text.firstMatch(of: /data-address="(\?ticket=[A-Za-z0-9_-]+)"/).map { String($0.1) }
    }
}

extension AppClient {
    /// From behind the bank to the end.
    mutating func finish(_ enrollment: Enrollment) async throws {
        try await awaitOptions(of: enrollment)
        #expect(try await confirm(enrollment).status == 204)
        try harness.sandbox.settle(enrollment: enrollment.belvoID)
        try await harness.poll()
        #expect(try await self.enrollment(enrollment).string("status") == "SUCCEEDED")
    }
}

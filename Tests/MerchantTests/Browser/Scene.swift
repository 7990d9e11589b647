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
    let prepare: @Sendable (_ stage: Stage, _ shopper: inout Shopper) async throws -> String
    /// Puts right again what `prepare` has broken.
    var tidy: @Sendable (_ stage: Stage) async throws -> Void = { _ in }

    var testDescription: String { name }

    static let languages = ["pt-BR", "en", "es"]

    static let all = [
        Scene(
            name: "collecting",
            headings: ["pt-BR": "Endereço incompleto", "en": "Incomplete address", "es": "Dirección incompleta"],
            needsScriptsOff: true, prepare: { _, _ in "" }),
        Scene(
            name: "working", headings: ["pt-BR": "Estamos concluindo", "en": "Almost there", "es": "Casi listo"],
            prepare: { stage, shopper in
                let bond = try await shopper.startEnrollment()
                stage.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
                return "?\(Browser.form(try shopper.decide(bond)))"
            },
            // Belvo has asked for silence.
            tidy: { stage in try await stage.advance(by: .seconds(5)) }),
        Scene(
            name: "approved",
            headings: ["pt-BR": "Banco confirmado", "en": "Bank confirmed", "es": "Banco confirmado"], opensApp: true,
            prepare: { _, shopper in
                let bond = try await shopper.startEnrollment()
                return "?\(Browser.form(try shopper.decide(bond)))"
            }),
        Scene(
            name: "succeeded", headings: ["pt-BR": "Tudo pronto", "en": "All done", "es": "Todo listo"], opensApp: true,
            prepare: { stage, shopper in
                let bond = try await shopper.startEnrollment()
                let ticket = try await stage.ticket(for: shopper.decide(bond))
                try await shopper.finish(bond)
                return ticket
            }),
        Scene(
            name: "failed",
            headings: [
                "pt-BR": "Não foi possível concluir", "en": "This did not work", "es": "No se pudo completar",
            ], opensApp: true,
            prepare: { _, shopper in
                let bond = try await shopper.startEnrollment()
                return "?\(Browser.form(try shopper.decide(bond, .refuse)))"
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
            prepare: { stage, shopper in
                let bond = try await shopper.startEnrollment()
                let ticket = try await stage.ticket(for: shopper.decide(bond))
                try await stage.advance(by: .seconds(901))
                return ticket
            }),
        Scene(
            name: "unavailable",
            headings: ["pt-BR": "Só um momento", "en": "Just a moment", "es": "Un momento"],
            prepare: { stage, shopper in
                let bond = try await shopper.startEnrollment()
                let query = "?\(Browser.form(try shopper.decide(bond)))"
                try await stage.loseReceipts()
                return query
            }, tidy: { try await $0.findReceipts() }),
    ]

    private static func used(_ name: String, _ decision: BankDecision, isFinished: Bool) -> Scene {
        Scene(
            name: name,
            headings: [
                "pt-BR": "Este link já foi usado", "en": "This link was already used", "es": "Este enlace ya se usó",
            ],
            prepare: { stage, shopper in
                let bond = try await shopper.startEnrollment()
                let reply = try shopper.decide(bond, decision)
                _ = try await stage.browser().follow(reply)
                if isFinished { try await shopper.finish(bond) }
                return "?\(Browser.form(reply))"
            })
    }
}

extension Stage {
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

    /// Plays the body with a browser beside the stage and a user who is known.
    static func browse(
        environment changes: [String: String] = [:],
        _ body: @escaping @Sendable (Stage, Chromium, inout Shopper) async throws -> Void
    ) async throws {
        let environment = ["APP_DEEP_LINK": appLink].merging(changes) { $1 }
        try await open(environment: environment) { stage in
            var shopper = try await Shopper.arrive(on: stage)
            try await Chromium.open { chromium in try await body(stage, chromium, &shopper) }
        }
    }
}

extension Answer {
    /// The query with the ticket, where a page has one.
    var ticket: String? {
        text.firstMatch(of: /data-address="(\?ticket=[A-Za-z0-9_-]+)"/).map { String($0.1) }
    }
}

extension Shopper {
    /// From behind the bank to the end.
    mutating func finish(_ bond: Bond) async throws {
        try await awaitOptions(of: bond)
        #expect(try await confirm(bond).status == 204)
        try stage.sandbox.settle(enrollment: bond.belvoID)
        try await stage.poll()
        #expect(try await enrollment(bond).string("status") == "SUCCEEDED")
    }
}

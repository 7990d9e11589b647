import Belvo
import BelvoSandbox
import FoundationEssentials
import JSON
import Postgres
import TestSupport
import Testing

@testable import MerchantServer

/// `merchant probe`, against a Belvo whose every reading is known.
@Suite(.timeLimit(.minutes(5))) struct ProbeTests {
    /// The sandbox's variant, and the probe's expected finding.
    struct Case: Sendable, CustomTestStringConvertible {
        let expected: String?
        let prepare: @Sendable (Sandbox) -> Void
        var testDescription: String { expected ?? "the defaults" }
    }

    private static func refusal(of field: String) -> Fault {
        .status(
            400, body: #"[{"request_id": "r", "code": "invalid", "message": "Wrong.", "field": "\#(field)"}]"#,
            contentType: "application/json", headers: [:])
    }

    static let cases: [Case] = [
        Case(expected: nil) { _ in },
        Case(expected: nil) { $0.variants.amounts = .number },
        Case(expected: nil) { $0.variants.authorizePlatform = .optional },
        Case(expected: "amount=string") { $0.variants.amounts = .string },
        Case(expected: "authorize_platform=uppercase") { $0.variants.authorizePlatform = .required },
        Case(expected: "authorize_platform=lowercase") {
            $0.next(refusal(of: "platform"), on: .authorizePaymentIntent, count: 2)
            $0.variants.authorizePlatform = .required
        },
        Case(expected: "intent_customer=omitted") {
            $0.next(refusal(of: "customer"), on: .createPaymentIntent)
            // The second question is about the customer again; this one is asked without.
            $0.next(refusal(of: "customer"), on: .createPaymentIntent)
            $0.next(madeWithoutCustomer, on: .createPaymentIntent)
        },
        Case(expected: "widget_token_body=empty_object") {
            $0.next(.refused(400, code: "parse_error"), on: .createWidgetToken)
        },
        Case(expected: "customer_version=v2") { $0.next(.forbiddenPage, on: .createCustomer) },
        Case(
            expected: """
                amount=string,authorize_platform=uppercase,widget_token_body=empty_object,customer_version=v2
                """
        ) {
            $0.variants.amounts = .string
            $0.variants.authorizePlatform = .required
            $0.next(.refused(400, code: "parse_error"), on: .createWidgetToken)
            $0.next(.refused(400, code: "invalid"), on: .createCustomer)
        },
    ]

    /// Belvo's answer where the enrollment names the payer: the sandbox itself always wants the customer.
    private static let madeWithoutCustomer = Fault.status(
        201,
        body: """
            {"id": "0f2b1c1e-8d6a-4f0e-9c55-2f6a1d3b7e10", "status": "PENDING", "amount": "0.01", "currency": "BRL",
            "created_at": "2026-11-22T12:00:00.000000Z", "updated_at": "2026-11-22T12:00:00.000000Z"}
            """, contentType: "application/json", headers: [:])

    private func probe(
        _ harness: TestHarness, _ prepare: @Sendable (Sandbox) -> Void = { _ in }, repeatsCustomer: Bool = false
    ) async throws -> ProbeReport {
        var client = try await AppClient.arrive(on: harness)
        let enrollment = try await client.enroll()
        let customer = try await harness.lines("SELECT belvo_id::text AS line FROM customers")
        var means = ProbeMeans()
        means.person = ("Rui Lima", "11144477735")
        means.enrollment = ProbeMeans.Enrollment(enrollment.belvoID, of: customer[0])
        means.repeatsCustomer = repeatsCustomer
        prepare(harness.sandbox)
        return try await harness.operate { [means] in try await $0.probe(means) }
    }

    @Test(arguments: cases) func `it finds by itself how Belvo wants to be spoken to`(_ wanted: Case) async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness, wanted.prepare)
            #expect(report.proposal == wanted.expected, "\(report.text)")
            // What it proposes is a setting that can be read.
            if let proposal = report.proposal {
                let settings = try harness.settings(with: ["BELVO_DIALECT": proposal])
                #expect(settings.belvoDialect == report.dialect)
            }
        }
    }

    @Test func `what it has proposed, once it is set, is in order`() async throws {
        try await TestHarness.open { harness in
            let first = try await probe(harness) {
                $0.variants.amounts = .string
                $0.variants.authorizePlatform = .required
            }
            #expect(!first.isInOrder && first.text.hasSuffix("    set BELVO_DIALECT=\(first.proposal ?? "")"))
            let set = try harness.settings(with: ["BELVO_DIALECT": try #require(first.proposal)])
            var means = ProbeMeans()
            let line = try await harness.lines(
                "SELECT enrollments.belvo_id || ' ' || customers.belvo_id AS line FROM enrollments, customers")
            let ids = line[0].split(separator: " ").map(String.init)
            means.enrollment = ProbeMeans.Enrollment(ids[0], of: ids[1])
            let second = try await harness.operate(set) { [means] in try await $0.probe(means) }
            #expect(second.isInOrder, "\(second.text)")
            #expect(second.text.hasSuffix("    BELVO_DIALECT=\(first.proposal ?? "") fits"))
        }
    }

    @Test func `what nobody knew becomes a fact or stays listed, and the sandbox answers as is known`() async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness, repeatsCustomer: true)
            #expect(report.differences == [], "\(report.text)")
            let known: Set<ProbeQuestion> = [
                .optionsBeforeReady, .widgetToken, .idempotency, .authorizePlatform, .duplicateCustomers,
                .enrollmentEnd, .openIntents, .deviceFilter, .methodWords,
            ]
            #expect(Set(report.facts.keys) == known)
            #expect(report.facts[.duplicateCustomers] == "201, another customer")
            #expect(report.facts[.deviceFilter] == "heeded")
            #expect(report.facts[.idempotency]?.hasPrefix("the same key and body get the same intent, ") == true)
            let lines = report.text.split(separator: "\n").map(String.init)
            for question in ProbeQuestion.allCases {
                let place = try #require(lines.firstIndex(of: "    \(question.rawValue). \(question.text)"))
                #expect((lines[place + 1] == "        not known") == !known.contains(question), "\(question)")
            }
        }
    }

    @Test(arguments: [
        (NotReady.withoutChallenge, "200, "), (.empty, "200, "), (.accepted, "202, "), (.notFound, "404, "),
        (.conflict, "409, "), (.tooEarly, "425, "),
    ])
    func `it says what the options look like before they are there`(_ reading: NotReady, _ fact: String) async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness) { $0.variants.fidoNotReady = reading }
            #expect(report.facts[.optionsBeforeReady]?.hasPrefix(fact) == true, "\(report.facts)")
        }
    }

    @Test func `what differs from what is known is named, and what cannot be read as well`() async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness) {
                $0.next(
                    .altered([.init("/name", nil), .init("/status", #""SOMETHING""#)]), on: .getCustomer)
                $0.next(.altered([.init("/id", nil)]), on: .getPaymentIntent)
            }
            #expect(report.differences.contains("readCustomer: name is missing"), "\(report.differences)")
            #expect(report.differences.contains { $0.hasPrefix("readPaymentIntent: id is missing") })
        }
    }

    @Test func `nothing secret and nothing personal is in what it prints, and nothing is paid`() async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness)
            let secrets = [
                "Rui", "Lima", "11144477735", "111.444", "Ana", "eyJ", harness.sandbox.configuration.secretPassword,
                "sandbox.example",
            ]
            for text in [report.text, report.json] {
                for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
                #expect(text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-/) == nil)
            }
            #expect(harness.countCalls(.authorizePaymentIntent) >= 1)
            let page = try await harness.metrics()
            #expect(page.value("merchant_state_entries_total", ["record": "payments", "state": "creating"]) == 0)
        }
    }

    @Test func `without a person and without an enrollment it says what is missing, and looks at the rest`()
        async throws
    {
        try await TestHarness.open { harness in
            let report = try await harness.operate { try await $0.probe(ProbeMeans()) }
            #expect(report.notTried.count == 2, "\(report.notTried)")
            #expect(report.exchanges.map(\.call) == ["mintWidgetToken", "listInstitutions"])
            let program = try #require(CommandTests.program)
            let run = try await onThread { [environment = harness.environment] in
                try ProgramRun([program, "probe", "--json"], environment: environment)
            }
            #expect(run.code == 0, "\(run)")
            #expect(
                try JSONDocument(parsing: Array(run.output.utf8)).root["unknown"]?.elements.reduce(0) { n, _ in n + 1 }
                    == 20)
        }
    }

    @Test func `the questions are those of the document`() throws {
        let rows = try Guide.lines(of: "docs/belvo-api.md").drop { !$0.hasPrefix("## 12.") }
            .prefix { !$0.hasPrefix("## 13.") }.filter { $0.wholeMatch(of: /\| \d+ \| .* \|/) != nil }
        #expect(rows == ProbeQuestion.allCases.map { "| \($0.rawValue) | \($0.text) |" })
    }
}

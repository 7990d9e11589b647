import BelvoSandbox
import FoundationEssentials
import Glibc
import HTTP
import JSON
import Postgres
import TestSupport
import Testing

/// The commands of an operator's day: one screen, a person's data, and JSON wherever a script wants it.
@Suite(.timeLimit(.minutes(5))) struct OperatorDayTests {
    private func run(
        _ harness: TestHarness, _ arguments: [String], _ changes: [String: String] = [:]
    ) async throws -> ProgramRun {
        let program = try #require(CommandTests.program)
        let environment = harness.environment.merging(changes) { $1 }
        return try await onThread { try ProgramRun([program] + arguments, environment: environment) }
    }

    private func json(_ run: ProgramRun) throws -> JSONValue {
        try JSONDocument(parsing: Array(run.output.utf8)).root
    }

    @Test func `status: all is well, and then what is in doubt, alarming or away is named`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.enroll()
                try await harness.pass(.seconds(10))
                let well = try await run(harness, ["status"])
                #expect(well.code == 0, "\(well)")
                #expect(well.output.hasSuffix("\nall is well\n"))
                for subject in ["database", "belvo", "shop"] {
                    let line = well.output.split(separator: "\n").first { $0.contains(" \(subject) ") }
                    #expect(line?.hasPrefix("ok ") == true && line?.contains("answers in ") == true, "\(well)")
                }
                #expect(try json(await run(harness, ["status", "--json"]))["well"]?.bool == true)

                let payment = try await client.openPayment(enrollment)
                try await client.authorize(payment)
                harness.sandbox.next(.statusAfter(503), on: .getEnrollment, count: nil)
                try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
                try await harness.pass(.seconds(130))
                try await harness.database.execute(
                    """
                    INSERT INTO money_alarms (id, payment_id, kind, detail)
                    SELECT gen_random_uuid(), id, 'double_paid', 'twice' FROM payments
                    """)
                let ill = try await run(harness, ["status"], ["BELVO_SECRET_PASSWORD": "wrong"])
                #expect(ill.code == 1, "\(ill)")
                for concern in [
                    "look at  belvo: Belvo did not let us in", "look at  1 payments in doubt (ops.in_doubt)",
                    "look at  money: 1 of double_paid (ops.money_alarms)",
                ] {
                    #expect(ill.output.contains(concern), "\(ill)")
                }
                try await harness.advance(by: .seconds(3_600))
                let late = try json(await run(harness, ["status", "--json"]))
                let concerns = late["look_at"]?.elements.compactMap(\.string) ?? []
                #expect(concerns.contains { $0.hasPrefix("payments: the next step is ") }, "\(concerns)")
                #expect(concerns.contains("webhooks: one has been unread for 62 min (ops.webhooks_unprocessed)"))
                #expect(late["money_alarms"]?["double_paid"]?.int64 == 1)
                let elsewhere = ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"]
                let away = try await run(harness, ["status"], elsewhere)
                #expect(away.code == 1)
                #expect(away.output.contains("look at  database: "), "\(away)")
            }
        }
    }

    @Test func `export: everything of one person's is readable, and nothing of another's`() async throws {
        try await TestHarness.open { harness in
            var other = try await AppClient.arrive(on: harness, as: "rui", taxID: "111.444.777-35")
            let otherPayment = try await other.openPayment(other.enroll())
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.poll()
            try await harness.work()
            let run = try await run(harness, ["export", "--subject", "ana"])
            #expect(run.code == 0, "\(run)")
            let person = try json(run)
            #expect(person["subject"]?.string == "ana")
            #expect(person["customer"]?["identifier"]?.string == "52998224725")
            #expect(person["customer"]?["name"]?.string == "Ana Souza")
            let found = try #require(person["enrollments"]?.elements.first { _ in true })
            #expect(found["facts"]?["id"]?.string == enrollment.id)
            #expect(found["device_id"]?.string?.isEmpty == false)
            #expect(found["payer_information"]?.members.contains { _ in true } == true)
            let payments = person["payments"]?.elements.map { $0 } ?? []
            #expect(payments.map { $0["facts"]?["id"]?.string } == [payment.id])
            #expect(payments.first?["facts"]?["amount"]?.numberText == "19.90")
            #expect(payments.first?["facts"]?["end_to_end_id"]?.string != nil)
            for name in ["history", "webhooks_of_belvo", "also_kept"] {
                #expect(person[name]?.elements.contains { _ in true } == true, "\(name)")
            }
            for secret in ["111.444.777-35", "11144477735", otherPayment.id, "rui", "digest", "ciphertext", "lookup"] {
                #expect(!run.output.contains(secret), "\(secret)")
            }
            let nobody = try await self.run(harness, ["export", "--subject", "nobody"])
            #expect(nobody.code == 66 && nobody.output.isEmpty, "\(nobody)")
        }
    }

    @Test func `export shows every column of a person's that erase empties`() async throws {
        try await TestHarness.open { harness in
            // What a later migration adds has to be given a place in one of the two, or be listed as impersonal.
            let columns = try await harness.lines(
                """
                SELECT table_name || '.' || column_name AS line FROM information_schema.columns
                WHERE table_schema = 'public' AND table_name IN ('customers', 'enrollments', 'payments', 'orders')
                    AND column_name ~ 'ciphertext|name|description|metadata|message|callback|external|consent'
                """)
            let source = try Guide.lines(of: "Sources/MerchantStore/Store/Store+PersonalData.swift").joined(
                separator: "\n")
            for column in columns {
                let name = try #require(column.split(separator: ".").last)
                let isElsewhere = [
                    "customers.person_ciphertext", "enrollments.redirect_url_ciphertext",
                    // The id of another payment, and nothing of the person's.
                    "payments.bears_name_of",
                ].contains(column)
                #expect(source.contains(name) || isElsewhere, "\(column) is exported")
            }
        }
    }

    @Test func `inspect finds a payment by everything that names it, and a user's records by the user`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let transfer = try #require(try await harness.lines("SELECT end_to_end_id AS line FROM payments").first)
            func ids(_ text: String) async throws -> [String] {
                let found = try await json(run(harness, ["inspect", text, "--json"]))["records"]
                return found?.elements.compactMap { $0["facts"]?["id"]?.string } ?? []
            }
            for name in [payment.id, payment.belvoID, transfer, "order-1"] {
                #expect(try await ids(name) == [payment.id], "\(name)")
            }
            let customer = try await harness.lines("SELECT id::text AS line FROM customers")
            #expect(try await ids("ana") == customer + [enrollment.id, payment.id])
        }
    }

    @Test func `every command takes --json, and what it prints then is JSON`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (arguments, member) in [
                (["migrate"], "applied"), (["token", "--subject", "ana"], "token"), (["doctor"], "findings"),
                (["status"], "answers"), (["inspect", enrollment.id], "records"),
                (["requeue", enrollment.id], "queued"),
                (["reconcile", "--day", "2026-01-01"], "differences"), (["export", "--subject", "ana"], "customer"),
                (["rotate-keys"], "columns"),
            ] {
                let run = try await run(harness, arguments + ["--json"])
                #expect(try json(run)[member] != nil, "\(arguments): \(run)")
            }
            try await harness.poll()
            let erased = try await run(harness, ["erase", "--subject", "ana", "--json"])
            #expect(try json(erased)["erased"]?.bool == true, "\(erased)")
            let commands = try await run(harness, ["--help"]).output.split(separator: "\n")
                .drop { $0 != "SUBCOMMANDS:" }.dropFirst().compactMap { line in
                    line.hasPrefix("  ") && !line.hasPrefix("   ") && !line.hasPrefix("  See ")
                        ? line.split(separator: " ").first : nil
                }
            #expect(commands.count >= 11)
            // Neither prints anything that a script would read.
            for command in commands where !["serve", "ready", "help"].contains(command) {
                let help = try await run(harness, [String(command), "--help"])
                #expect(help.output.contains("--json"), "\(command)")
            }
        }
    }

    @Test func `each answer has a line where that is asked for, and each line its trace`() async throws {
        try await TestHarness.open { harness in
            let program = try #require(CommandTests.program)
            let server = try RunningProgram(
                [program, "serve"], environment: harness.environment.merging(["LOG_REQUESTS": "on"]) { $1 })
            let port = try await HandoverTests.generation(1, of: server, on: harness.loop).port
            let token = try #require(try await harness.app(of: "ana").token)
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let client = HTTP.Client(origin: try #require(URL("http://127.0.0.1:\(port)")).origin, tls: nil)
            // More than the lines of an event that are written when they are not asked for.
            for number in 0..<150 {
                let headers: Headers = [
                    "authorization": "Bearer \(token)", "x-request-id": "r-\(number)",
                    "traceparent": "00-\(trace)-00f067aa0ba902b7-01",
                ]
                _ = try await client.send(
                    Request(.get, Target(path: "/v1/enrollments"), headers: headers), deadline: .seconds(10))
            }
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .createWidgetToken)
            _ = try await client.send(
                Request(.post, Target(path: "/v1/widget-token"), headers: ["authorization": "Bearer \(token)"]),
                deadline: .seconds(10))
            kill(server.process, SIGTERM)
            #expect(await (try onThread { server.waitForEnd() }) == 0)
            let lines = try server.lines.map { try JSONDocument(parsing: Array($0.utf8)).root }
            let answers = lines.filter { $0["event"]?.string == "request.answered" }
            let listed = answers.filter { $0["operation"]?.string == "listEnrollments" }
            #expect(listed.count == 150)
            #expect(listed.allSatisfy { $0["trace_id"]?.string == trace && $0["level"]?.string == "info" })
            // Without a trace of the client's there is a new one, which its lines share.
            let failed = try #require(lines.first { $0["event"]?.string == "request.failed" })
            let made = try #require(failed["trace_id"]?.string)
            #expect(made.wholeMatch(of: /[0-9a-f]{32}/) != nil && made != trace)
            let last = answers.first { $0["operation"]?.string == "mintWidgetToken" }
            #expect(last?["trace_id"]?.string == made)
        }
    }
}

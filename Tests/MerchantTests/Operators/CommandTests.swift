import BelvoSandbox
import Contract
import FoundationEssentials
import Glibc
import HTTP
import JSON
import Postgres
import TestSupport
import Testing

@testable import MerchantModel
@testable import MerchantServer

/// The commands as a script finds them: what they print, and how they end.
@Suite struct CommandTests {
    /// The program beside these tests.
    static let program: String? = {
        guard let tests = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let slash = tests.lastIndex(of: "/")
        else { return nil }
        return tests[...slash] + "merchant"
    }()

    private func run(
        _ harness: TestHarness, _ arguments: [String], _ changes: [String: String] = [:]
    ) async throws -> ProgramRun {
        let program = try #require(Self.program)
        let environment = harness.environment.merging(changes) { $1 }
        return try await onThread { try ProgramRun([program] + arguments, environment: environment) }
    }

    @Test func `the version and the commit are named, the version being that of the contract`() async throws {
        let program = try #require(Self.program)
        let run = try await onThread { try ProgramRun([program, "--version"], environment: [:]) }
        let info = try JSONDocument(parsing: Contract.document).root["info"]
        let version = try #require(info?["version"]?.string)
        let words = run.output.split(whereSeparator: \.isWhitespace)
        #expect(run.code == 0)
        #expect(words.dropLast().joined(separator: " ") == "merchant \(version), commit")
        // A copy of the sources without their history is built as well; see scripts/lib/embed-commit.
        let isCheckout = FileManager.default.fileExists(atPath: Guide.root + "/.git")
        #expect(words.last?.wholeMatch(of: #/[0-9a-f]{12}(-dirty)?/#) != nil || !isCheckout, "\(run.output)")
    }

    private static let today = UTCDay(of: WallClock.now()).description

    @Test func `doctor ends with 0 when all is well, with 1 when not, and its JSON says the same`() async throws {
        try await TestCluster.with(settings: "fsync = on") { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let well = try await run(harness, ["doctor"])
                #expect(well.code == 0, "\(well)")
                #expect(well.output.contains("ok  migrations: "))
                let json = try await run(harness, ["doctor", "--json"])
                #expect(json.code == 0)
                #expect(try JSONDocument(parsing: Array(json.output.utf8)).root["healthy"]?.bool == true)
            }
        }
        try await TestHarness.open { harness in
            let ill = try await run(harness, ["doctor", "--json"], ["BELVO_SECRET_PASSWORD": "wrong"])
            #expect(ill.code == 1)
            let root = try JSONDocument(parsing: Array(ill.output.utf8)).root
            #expect(root["healthy"]?.bool == false)
            let verdicts = root["findings"]?.elements.compactMap { $0["verdict"]?.string } ?? []
            #expect(verdicts.contains("failed"))
            let misread = try await run(harness, ["doctor"], ["PUBLIC_BASE_URL": "nowhere"])
            #expect(misread.code == 78)
            #expect(misread.errors.contains("PUBLIC_BASE_URL"))
        }
    }

    @Test func `ready ends with 0 while the server wants requests, and with 69 when it does not or is not there`()
        async throws
    {
        try await TestCluster.with { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let there = ["ADMIN_LISTEN": "\(harness.addresses.admin)"]
                let yes = try await run(harness, ["ready"], there)
                #expect(yes.code == 0, "\(yes)")
                #expect(yes.output.contains(#""status":"ok""#))
                let nobody = try await run(harness, ["ready"], ["ADMIN_LISTEN": "127.0.0.1:1"])
                #expect(nobody.code == 69, "\(nobody)")
                try await cluster.stop(.fast)
                let no = try await run(harness, ["ready"], there)
                #expect(no.code == 69 && no.output.contains("database"), "\(no)")
            }
        }
    }

    @Test func `inspect and requeue end with 66 for what nobody knows, and with 69 without a database`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            let text = try await run(harness, ["inspect", "order-1"])
            #expect(text.code == 0, "\(text)")
            #expect(text.output.contains("creating → awaiting_signature"))
            let json = try await run(harness, ["inspect", payment.belvoID, "--json"])
            #expect(json.code == 0)
            let records = try JSONDocument(parsing: Array(json.output.utf8)).root["records"]
            let record = records?.elements.first { _ in true }
            #expect(record?["facts"]?["id"]?.string == payment.id)
            #expect(try await run(harness, ["requeue", payment.id]).output == "queued payment \(payment.id)\n")
            let away = ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"]
            // Both at once: each waits for a database for as long as a restart may take.
            try await withThrowingDiscardingTaskGroup { group in
                for command in ["inspect", "requeue"] {
                    group.addTask {
                        #expect(try await run(harness, [command, "order-9"]).code == 66)
                        let lost = try await run(harness, [command, "order-1"], away)
                        #expect(lost.code == 69, "\(lost)")
                        #expect(lost.output.isEmpty)
                    }
                }
            }
        }
    }

    @Test func `reconcile ends with 0 on a clean day, with 1 on another, and with 69 without Belvo`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            let clean = try await run(harness, ["reconcile", "--day", Self.today])
            #expect(clean.code == 0, "\(clean)")
            #expect(clean.output == "\(Self.today): 0 differences\n")
            harness.sandbox.next(.otherAmount, on: .listPaymentIntents)
            let differs = try await run(harness, ["reconcile", "--day", Self.today, "--json"])
            #expect(differs.code == 1, "\(differs)")
            let root = try JSONDocument(parsing: Array(differs.output.utf8)).root
            let found = root["differences"]?.elements.map { $0 } ?? []
            #expect(found.map { $0["kind"]?.string } == ["amount"])
            #expect(found.first?["payment_intent"]?.string == payment.id)
            #expect(try await run(harness, ["reconcile", "--day", "21.11.2026"]).code == 64)
            let away = try await run(
                harness, ["reconcile", "--day", Self.today], ["BELVO_BASE_URL": "http://127.0.0.1:1"])
            #expect(away.code == 69, "\(away)")
            #expect(!away.errors.isEmpty)
        }
    }

    @Test func `erase and rotate-keys say what they did`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let early = try await run(harness, ["erase", "--subject", "ana"])
            #expect(early.code == 69, "\(early)")
            #expect(early.errors.contains("enrollment \(enrollment.id)"))
            try await client.confirm(enrollment)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            let keys = "second:\(Data(repeating: 7, count: 32).base64EncodedString())"
            let first = try #require(harness.environment["ENCRYPTION_KEYS"])
            let rotated = try await run(harness, ["rotate-keys"], ["ENCRYPTION_KEYS": "\(keys),\(first)"])
            #expect(rotated.code == 0, "\(rotated)")
            #expect(rotated.output.contains("customers.person_ciphertext: 1 encrypted anew, 0 left\n"))
            // Without the key under which everything is.
            let back = try await run(harness, ["rotate-keys"])
            #expect(back.code == 1, "\(back)")
            #expect(back.output.contains("customers.person_ciphertext: 0 encrypted anew, 1 left\n"))
            let erased = try await run(harness, ["erase", "--subject", "ana"])
            #expect(erased.code == 0, "\(erased)")
            #expect(erased.output.contains("0 payments and 1 enrollments stay as erased-"))
            #expect(try await run(harness, ["erase", "--subject", "ana"]).code == 66)
        }
    }
}

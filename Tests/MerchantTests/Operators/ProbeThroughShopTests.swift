import Belvo
import BelvoSandbox
import HTTP
import JSON
import Postgres
import Testing
import Transport

@testable import MerchantServer

/// `merchant probe --through-shop`: a person connects a bank and pays, and the probe watches.
@Suite(.timeLimit(.minutes(5))) struct ProbeThroughShopTests {
    /// A dialect that the sandbox is made to want, and what the probe has to find out while the person pays.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let expected: String?
        /// How often the person has to sign.
        var signatures = 1
        let prepare: @Sendable (Sandbox) -> Void
        var testDescription: String { name }
    }

    private static func refusal(of field: String) -> Fault {
        .status(
            400, body: #"[{"request_id": "r", "code": "invalid", "message": "Wrong.", "field": "\#(field)"}]"#,
            contentType: "application/json", headers: [:])
    }

    static let cases: [Case] = [
        Case(name: "the defaults", expected: nil) { _ in },
        Case(name: "a platform that may be there", expected: nil) { $0.variants.authorizePlatform = .optional },
        Case(name: "amounts in texts", expected: "amount=string") { $0.variants.amounts = .string },
        Case(name: "a platform in capitals", expected: "authorize_platform=uppercase") {
            $0.variants.authorizePlatform = .required
        },
        Case(name: "a platform in small letters", expected: "authorize_platform=lowercase") {
            $0.next(refusal(of: "platform"), on: .authorizePaymentIntent, count: 2)
            $0.variants.authorizePlatform = .required
        },
        Case(
            name: "a platform that is missed in signatures alone", expected: "authorize_platform=uppercase",
            signatures: 2
        ) {
            $0.next(refusal(of: "assertion"), on: .authorizePaymentIntent)
            $0.variants.authorizePlatform = .required
        },
        Case(name: "the second version of customers", expected: "customer_version=v2") {
            $0.next(refusal(of: "address"), on: .createCustomer)
        },
        Case(name: "the documented states", expected: nil) { $0.variants.intentStates = .documented },
        Case(name: "options when they are read", expected: nil) { $0.variants.fidoOptions = .whenRead },
        Case(name: "risk signals in the open", expected: nil) { $0.variants.riskSignals = .object },
        Case(name: "what authorized is called in Britain", expected: nil) { $0.variants.authorizedSpelling = .british },
        Case(
            name: "several at once",
            expected: "amount=string,authorize_platform=uppercase,widget_token_body=empty_object,customer_version=v2"
        ) {
            $0.next(.refused(400, code: "parse_error"), on: .createWidgetToken)
            $0.next(refusal(of: "address"), on: .createCustomer)
            $0.variants.amounts = .string
            $0.variants.authorizePlatform = .required
        },
    ]

    /// Has a probe watch while the person does what the body says.
    private func probe(
        _ harness: TestHarness, _ means: ProbeMeans = ProbeMeans(), limit: Duration = .seconds(60),
        isEnded: Bool = false, _ body: (TestHarness) async throws -> Void
    ) async throws -> ProbeReport {
        let (openings, opening) = AsyncStream<(MerchantServer, MerchantServer.Addresses)>.makeStream()
        let visit = ShopVisit(limit: limit, linger: .zero) { opening.yield(($0, $1)) }
        async let report = harness.operate { operators in
            defer { opening.finish() }
            return try await operators.probe(
                means, throughShop: visit, log: harness.log.logger, clock: harness.clock.intervals, work: .whenTold)
        }
        for await (server, addresses) in openings {
            let watched = harness.with(server, at: addresses)
            do {
                try await body(watched)
                if isEnded { visit.end() }
            } catch {
                Issue.record(error)
                visit.end()
            }
            await watched.client.closeIdle(on: harness.loop)
            break
        }
        return try await report
    }

    /// Pays R$ 0.01. Where the probe has to ask Belvo first, the app asks again, as apps do.
    private func pay(_ client: inout AppClient, _ enrollment: AppClient.Enrollment, _ reference: String) async throws {
        let body = client.paymentBody(enrollment, reference: reference, amount: #""0.01""#)
        var answer: Answer
        var tries = 0
        repeat {
            answer = try await client.app.send(
                .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-\(reference)"])
            tries += 1
        } while answer.status == 503 && tries < 3
        #expect(answer.status == 201, "\(answer)")
        let id = try answer.string("id")
        // The options may come later than the intent.
        while try await client.payment(id).json["status"]?.string == "PENDING",
            try await client.payment(id).json["next_action"]?["type"]?.string == "poll"
        {
            try await client.harness.poll()
        }
        let payment = AppClient.OpenedPayment(
            id: id, belvoID: try answer.string("belvo_id"), answer: try await client.payment(id))
        let signed = try await client.authorize(payment)
        guard signed.status == 204 else { return }
        try client.harness.sandbox.settle(intent: payment.belvoID)
        try await client.harness.poll()
    }

    @Test(arguments: cases) func `a person pays once and the probe knows how Belvo wants to be spoken to`(
        _ wanted: Case
    ) async throws {
        try await TestHarness.open { harness in
            wanted.prepare(harness.sandbox)
            let report = try await probe(harness) { watched in
                let app = try await watched.app(of: "ana")
                // A customer whom Belvo refuses is asked for again.
                for _ in 0..<2 {
                    let customer = try await app.send(.put, "/v1/customer", AppClient.customerBody())
                    if customer.status < 300 { break }
                }
                var client = try await AppClient.arrive(on: watched)
                let enrollment = try await client.enroll()
                for number in 1...wanted.signatures { try await pay(&client, enrollment, "order-\(number)") }
            }
            #expect(report.wasPaid == true, "\(report.text)")
            #expect(report.proposal == wanted.expected, "\(report.text)")
            #expect(report.differences == [], "\(report.text)")
            #expect(report.isInOrder == (wanted.expected == nil))
            let signed = try #require(report.facts[.authorizePlatform])
            #expect(signed == "\(report.dialect.authorizePlatform.rawValue) got 204 with a signature")
            let calls = Set(report.exchanges.map(\.call))
            let wantedCalls: Set<String> = [
                "completeRedirection", "readRegistrationOptions", "confirmEnrollment", "authorizePaymentIntent",
                "readPaymentIntent", "readCharge", "listCharges", "readTransaction",
            ]
            #expect(wantedCalls.subtracting(calls) == [])
            #expect(harness.signaturesTaken == 1)
        }
    }

    @Test func `more than R$ 0.01 is not taken while a probe watches`() async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness, isEnded: true) { watched in
                var client = try await AppClient.arrive(on: watched)
                let enrollment = try await client.enroll()
                let refused = try await client.requestPayment(enrollment)
                #expect(refused.text.contains("at most 0.01 BRL"), "\(refused.text)")
                #expect(harness.countCalls(.createPaymentIntent) == 0)
            }
            #expect(report.wasPaid == false)
            #expect(!report.isInOrder)
            #expect(report.notTried.contains { $0.contains("nobody has paid") }, "\(report.notTried)")
            #expect(report.exchanges.contains { $0.call == "confirmEnrollment" && $0.status == 204 })
        }
    }

    @Test func `it ends when its time is over`() async throws {
        try await TestHarness.open { harness in
            let report = try await probe(harness, limit: .milliseconds(50)) { _ in }
            #expect(report.wasPaid == false)
        }
    }

    @Test func `what comes in another way than known is named: a body to a signature, a member of a charge`()
        async throws
    {
        try await TestHarness.open { harness in
            let report = try await probe(harness) { watched in
                var client = try await AppClient.arrive(on: watched)
                let enrollment = try await client.enroll()
                harness.sandbox.next(.altered([.init("/provider", nil)]), on: .getCharge)
                harness.sandbox.next(.statusAfter(200), on: .authorizePaymentIntent, afterLetting: 1)
                try await pay(&client, enrollment, "order-1")
            }
            #expect(report.differences.contains("readCharge: provider is missing"), "\(report.text)")
            #expect(report.differences.contains("authorizePaymentIntent: 200 came, and not 204"), "\(report.text)")
        }
    }

    @Test func `webhooks are kept by their shape, and what was done is sent once more only where that is allowed`()
        async throws
    {
        for repeats in [false, true] {
            try await TestHarness.open { harness in
                var means = ProbeMeans()
                means.repeatsSteps = repeats
                let report = try await probe(harness, means) { watched in
                    var client = try await AppClient.arrive(on: watched)
                    let enrollment = try await client.enroll()
                    try await watched.tell("ENROLLMENTS", of: enrollment.belvoID, data: #""status": "SUCCEEDED""#)
                    try await pay(&client, enrollment, "order-1")
                }
                #expect(report.facts[.enrollmentWebhooks] == "seen: status: word SUCCEEDED")
                #expect(report.facts[.webhookIDs]?.hasPrefix("1 webhooks bore 1 ids") == true)
                #expect(harness.countCalls(.confirmEnrollment) == (repeats ? 2 : 1))
                let repeated =
                    "completeRedirection gets 200, confirmEnrollment gets 409, authorizePaymentIntent gets 409"
                #expect(report.facts[.repetitions] == (repeats ? repeated : nil))
                #expect(harness.signaturesTaken == 1)
            }
        }
    }

    @Test func `nothing secret and nothing personal of the person who pays is in what it prints`() async throws {
        try await TestHarness.open { harness in
            var means = ProbeMeans()
            means.repeatsSteps = true
            var secrets: [String] = []
            let report = try await probe(harness, means) { watched in
                harness.sandbox.variants.riskSignals = .object
                var client = try await AppClient.arrive(on: watched)
                let enrollment = try await client.enroll()
                try await watched.tell(
                    "ENROLLMENTS", of: enrollment.belvoID, data: #""52998224725": "Ana Souza", "note": "Ana""#)
                try await pay(&client, enrollment, "order-1")
                secrets = [client.deviceID, enrollment.belvoID, enrollment.id]
            }
            #expect(report.wasPaid == true)
            let ends = try await harness.lines("SELECT end_to_end_id AS line FROM payments")
            let known =
                secrets + ends + [
                    "Ana", "Souza", "52998224725", "529.982", "ana@example.com", "5511987654321", "order-1", "eyJ",
                    "sandbox.example", "mockbank", "6789", "1234", harness.sandbox.configuration.secretPassword,
                ]
            #expect(known.allSatisfy { !$0.isEmpty } && ends.count == 1)
            for text in [report.text, report.json] {
                for secret in known { #expect(!text.contains(secret), "\(secret)") }
                #expect(text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-/) == nil)
                // Challenges, credentials and signatures are long; names of members are not.
                #expect(text.firstMatch(of: /[A-Za-z0-9_-]{43}[A-Za-z0-9_-]*[0-9]/) == nil)
            }
        }
    }
}

extension TestHarness {
    /// How many signatures Belvo has taken.
    fileprivate var signaturesTaken: Int {
        sandbox.calls.filter { $0.endpoint == .authorizePaymentIntent && $0.status == 204 }.count
    }
}

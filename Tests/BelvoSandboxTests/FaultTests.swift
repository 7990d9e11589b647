import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct FaultTests {
    @Test(arguments: [
        (Fault.dropRequest, Delivery.drop, false), (.dropAnswer, .drop, true), (.truncated(40), .truncated(40), true),
        (.contentLength(offBy: 10), .contentLength(-1), true),
        (.slow(bytesPerSecond: 1), .slow(bytesPerSecond: 1), true),
    ])
    func `a fault of the connection is done before or after the work`(
        _ fault: Fault, _ delivery: Delivery, _ isProcessed: Bool
    ) async throws {
        let merchant = Merchant()
        merchant.sandbox.next(fault, on: .createCustomer)
        let hit = await merchant.post("/payments/br/customers/", Bodies.customer())
        if case .contentLength = delivery {
            #expect(hit.answer.delivery == .contentLength(hit.answer.response.body.count + 10))
        } else {
            #expect(hit.answer.delivery == delivery)
        }
        #expect(await merchant.get("/payments/br/customers/").results.count == (isProcessed ? 1 : 0))
        #expect(merchant.sandbox.calls.first?.isProcessed == isProcessed)
        #expect(merchant.sandbox.calls.first?.fault == fault.name)
        let next = await merchant.post("/payments/br/customers/", Bodies.customer())
        #expect(next.answer.delivery == .whole)
        #expect(next.status == 201)
    }

    @Test(arguments: [
        (Fault.refused(500, code: "unexpected_error"), 500, "application/json", false),
        (.forbiddenPage, 403, "text/html", false), (.tooManyRequests(retryAfter: 7), 429, "application/json", false),
        (.tooManyRequests(retryAfter: nil), 429, "application/json", false),
        (.redirect(to: "https://elsewhere.example/"), 302, "text/html", false),
        (.garbageBody, 200, "application/json", true), (.huge(100_000), 200, "application/json", true),
    ])
    func `an answer instead of Belvo's`(
        _ fault: Fault, _ status: Int, _ type: String, _ isProcessed: Bool
    ) async throws {
        let merchant = Merchant()
        merchant.sandbox.next(fault, on: .createCustomer)
        let hit = await merchant.post("/payments/br/customers/", Bodies.customer())
        #expect(hit.status == status)
        #expect(hit.answer.response.headers["content-type"] == type)
        #expect(await merchant.get("/payments/br/customers/").results.count == (isProcessed ? 1 : 0))
        if case .huge(let count) = fault { #expect(hit.answer.response.body.count == count) }
        if fault == .tooManyRequests(retryAfter: 7) { #expect(hit.answer.response.headers["retry-after"] == "7") }
    }

    @Test(
        arguments: [
            (Fault.missingID, "id", nil), (.unknownStatus, "status", "SOMETHING_NEW"), (.otherAmount, "amount", "0.01"),
            (.otherCurrency, "currency", "USD"), (.otherCustomer, "customer", "99999999-9999-4999-8999-999999999999"),
            (.otherExternalID, "external_id", "99999999-9999-4999-8999-999999999999"),
        ] as [(Fault, String, String?)])
    func `an answer differs in one member, alone and in lists`(
        _ fault: Fault, _ member: String, _ value: String?
    ) async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        let path = "/payments/br/payment-intents/"
        let before = try #require(await merchant.get("\(path)\(intent.id)/").json)
        merchant.sandbox.next(fault, on: nil, count: 3)
        let alone = try #require(await merchant.get("\(path)\(intent.id)/").json)
        let listed = try #require(await merchant.get(path).results.first)
        merchant.sandbox.variants.lists = .bare
        let bare = try #require(await merchant.get(path).json?.elements.map { $0 }.first)
        for changed in [alone, listed, bare] {
            #expect(changed[member]?.string == value)
            #expect((changed[member] == nil) == (value == nil))
            for (name, original) in before.members where name != member {
                #expect(changed[name]?.raw == original.raw, "\(name)")
            }
        }
    }

    @Test func `nested members differ too`() async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        let path = "/payments/br/payment-intents/\(intent.id)/"
        merchant.sandbox.next(.otherBeneficiary, on: .getPaymentIntent)
        merchant.sandbox.next(.otherEnrollment, on: .getPaymentIntent)
        func method() async -> JSONValue? {
            await merchant.get(path).json?["payment_method_details"]?["open_finance_biometric_pix"]
        }
        #expect(await method()?["beneficiary_bank_account"]?.string?.hasPrefix("99999999") == true)
        #expect(await method()?["enrollment"]?.string?.hasPrefix("99999999") == true)
        #expect(await method()?["beneficiary_bank_account"]?.string == merchant.sandbox.beneficiary)
    }

    @Test func `faults wait for their endpoint, let calls pass, and last as long as told`() async {
        let merchant = Merchant()
        merchant.sandbox.next(.forbiddenPage, on: .listInstitutions, count: 2, afterLetting: 1)
        var statuses: [Int] = []
        for _ in 0..<5 {
            statuses.append(await merchant.get("/payments/br/institutions/").status)
            #expect(await merchant.get("/payments/br/customers/").status == 200)
        }
        #expect(statuses == [200, 403, 403, 200, 200])
        merchant.sandbox.next(.forbiddenPage, on: nil, count: nil)
        for _ in 0..<3 { #expect(await merchant.get("/payments/br/customers/").status == 403) }
        merchant.sandbox.clearFaults()
        #expect(await merchant.get("/payments/br/customers/").status == 200)
    }

    @Test func `a delay is the caller's to measure`() async {
        let (spans, continuation) = AsyncStream<Duration>.makeStream()
        let merchant = Merchant { $0.sleep = { continuation.yield($0) } }
        merchant.sandbox.next(.delayRequest(.seconds(11)), on: .listCustomers)
        merchant.sandbox.next(.delayAnswer(.seconds(12)), on: .listCustomers)
        for _ in 0..<2 { #expect(await merchant.get("/payments/br/customers/").status == 200) }
        continuation.finish()
        #expect(await spans.reduce(into: []) { $0.append($1) } == [.seconds(11), .seconds(12)])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a test can await a call instead of sleeping`() async throws {
        let merchant = Merchant()
        let arrivals = merchant.sandbox.arrivals()
        merchant.sandbox.next(.dropRequest, on: .listCustomers)
        async let first = merchant.get("/payments/br/customers/")
        async let second = merchant.post("/payments/br/customers/", Bodies.customer())
        var seen: Set<Endpoint?> = []
        for await call in arrivals {
            seen.insert(call.endpoint)
            #expect(call.isProcessed == (call.endpoint == .createCustomer))
            if seen == [.listCustomers, .createCustomer] { break }
        }
        _ = await (first, second)
    }

    @Test func `the log has what was sent and nothing secret`() async throws {
        let merchant = Merchant()
        _ = try await merchant.customer()
        _ = await merchant.post(
            "/payments/br/payment-intents/", #"{"external_id":"e-1"}"#, headers: ["belvo-idempotency-key": "k-1"])
        _ = await merchant.get("/payments/br/enrollments/?device_id=secret-device&external_id=e-2")
        let calls = merchant.sandbox.calls
        #expect(calls.map(\.endpoint) == [.createCustomer, .createPaymentIntent, .listEnrollments])
        #expect(calls.map(\.externalID) == ["user-1", "e-1", "e-2"])
        #expect(calls.map(\.idempotencyKey) == [nil, "k-1", nil])
        #expect(calls.map(\.status) == [201, 400, 200])
        #expect(calls.map(\.number) == [1, 2, 3])
        #expect(!"\(calls)".contains("secret-device"))
        #expect(!"\(calls)".contains("52998224725"))
    }
}

/// Replies of the sandbox as the HTTP server gets them.
@Suite struct ReplyTests {
    private func bytes(_ fault: Fault) async -> String? {
        let merchant = Merchant { $0.sleep = { _ in } }
        merchant.sandbox.next(fault, on: .listCustomers)
        let request = Request(
            .get, "/payments/br/customers/", headers: Headers(["authorization": Merchant.authorization]))
        guard case .raw(let bytes) = await merchant.sandbox.reply(to: request) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private let whole = #"{"count":0,"next":null,"previous":null,"results":[]}"#

    @Test func `a dropped answer has no byte and a truncated one ends early`() async {
        #expect(await bytes(.dropAnswer) == "")
        #expect(await bytes(.dropRequest) == "")
        #expect(await bytes(.truncated(17)) == "HTTP/1.1 200 OK\r\n")
    }

    @Test func `a wrong length stands in an otherwise right message`() async throws {
        let message = try #require(await bytes(.contentLength(offBy: 9)))
        #expect(message.contains("\r\ncontent-length: \(whole.utf8.count + 9)\r\n"))
        #expect(message.hasSuffix("\r\n\r\n\(whole)"))
    }

    @Test func `a slow answer comes whole after its time`() async {
        #expect(await bytes(.slow(bytesPerSecond: 1))?.hasSuffix(whole) == true)
    }

    @Test func `without a fault the server writes the answer`() async {
        #expect(await bytes(.delayAnswer(.seconds(1))) == nil)
    }
}

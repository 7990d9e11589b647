import HTTP
import JSON
import Synchronization
import Testing

@testable import BelvoSandbox

/// One who receives webhooks, and answers as told.
final class Receiver: Sendable {
    private let state = Mutex((requests: [Request](), answers: [Status?]()))

    init(answers: [Status?] = []) { state.withLock { $0.answers = answers } }

    var requests: [Request] { state.withLock { $0.requests } }

    var bodies: [JSONValue] {
        requests.compactMap { try? JSONDocument(parsing: $0.body).root }
    }

    func receive(_ request: Request) -> Status? {
        state.withLock { state in
            state.requests.append(request)
            return state.answers.isEmpty ? .ok : state.answers.removeFirst()
        }
    }

    func subscription(token: String? = "token-1") throws -> WebhookSubscription {
        let url = try #require(URL("https://merchant.example/webhooks/belvo"))
        return WebhookSubscription(url: url, token: token) { self.receive($0) }
    }
}

@Suite struct WebhookTests {
    @Test func `a payment is told of in Belvo's payload with the bearer token`() async throws {
        let receiver = Receiver()
        let subscription = try receiver.subscription()
        let merchant = Merchant { $0.webhookSubscriptions = [subscription] }
        let device = Device()
        let enrollment = try await merchant.enrolled(device)
        let intent = try await merchant.intent(enrollment)
        try merchant.sandbox.settle(intent: intent.id)
        await merchant.sandbox.runDue()

        #expect(
            Set(receiver.bodies.map { "\($0["webhook_type"]?.string ?? "") \($0["webhook_code"]?.string ?? "")" }) == [
                "ENROLLMENTS STATUS_UPDATE", "PAYMENT_INTENTS STATUS_UPDATE", "CHARGES STATUS_UPDATE",
                "TRANSACTIONS OBJECT_CREATED",
            ])
        for request in receiver.requests {
            #expect(request.headers["authorization"] == "Bearer token-1")
            #expect(request.headers["content-type"] == "application/json")
            #expect(request.target == "/webhooks/belvo")
        }
        let payment = try #require(receiver.bodies.first { $0["webhook_type"]?.string == "PAYMENT_INTENTS" })
        #expect(payment["object_id"]?.string == intent.id)
        #expect(payment["external_id"]?.string == "payment-1")
        #expect(payment["data"]?["status"]?.string == "SUCCEEDED")
        #expect(payment["data"]?["end_to_end_id"]?.string?.count == 32)
        let charge = try #require(receiver.bodies.first { $0["webhook_type"]?.string == "CHARGES" })
        #expect(charge["external_id"]?.isNull == true)
    }

    @Test(
        arguments: [
            ([Status?.some(.internalServerError), .none, .some(.ok)], 3, "delivered"),
            ([.some(.accepted), .some(.ok)], 2, "delivered"),
            ([.none, .none, .none, .none, .some(.ok)], 4, "lost"),
        ] as [([Status?], Int, String)])
    func `a webhook is tried three more times, a minute apart`(
        _ answers: [Status?], _ attempts: Int, _ state: String
    ) async throws {
        let receiver = Receiver(answers: answers)
        let subscription = try receiver.subscription()
        let merchant = Merchant { $0.webhookSubscriptions = [subscription] }
        let (id, _) = try await merchant.redirectedEnrollment()
        try merchant.sandbox.fail(enrollment: id)
        for attempt in 1...6 {
            await merchant.sandbox.runDue()
            #expect(receiver.requests.count == min(attempt, attempts))
            merchant.sandbox.advance(by: .seconds(59))
            await merchant.sandbox.runDue()
            #expect(receiver.requests.count == min(attempt, attempts))
            merchant.sandbox.advance(by: .seconds(1))
        }
        #expect(merchant.sandbox.withState { $0.outbox.webhooks.all.map(\.state.rawValue) } == [state])
        #expect(Set(receiver.requests.map(\.body)).count == 1)
    }

    @Test func `webhooks can be lost, repeated, held and reordered`() async throws {
        let receiver = Receiver()
        let subscription = try receiver.subscription()
        let merchant = Merchant { $0.webhookSubscriptions = [subscription] }
        let device = Device()
        merchant.sandbox.variants.webhookCopies = 0
        let enrollment = try await merchant.enrolled(device)
        await merchant.sandbox.runDue()
        #expect(receiver.requests.isEmpty)

        merchant.sandbox.variants.webhookCopies = 100
        try merchant.sandbox.cancel(intent: try await merchant.intent(enrollment).id)
        await merchant.sandbox.runDue()
        #expect(receiver.requests.count == 200)

        merchant.sandbox.variants.webhookCopies = 1
        merchant.sandbox.variants.webhookFlow = .held
        let intents = [try await merchant.intent(enrollment).id, try await merchant.intent(enrollment).id]
        for intent in intents { try merchant.sandbox.fail(intent: intent) }
        await merchant.sandbox.runDue()
        #expect(receiver.requests.count == 200)
        merchant.sandbox.releaseWebhooks(reversed: true)
        let order = merchant.sandbox.withState { $0.takeDueWebhooks().map(\.objectID) }
        #expect(order.filter(intents.contains) == intents.reversed())
    }

    @Test func `older payloads and other headers are one switch away`() async throws {
        let receiver = Receiver()
        let subscription = try receiver.subscription()
        let merchant = Merchant {
            $0.webhookSubscriptions = [subscription]
            $0.variants.webhookExternalID = .absent
            $0.variants.webhookToken = .bare
            $0.variants.failureCodes = .upper
        }
        let (id, _) = try await merchant.redirectedEnrollment()
        try merchant.sandbox.fail(enrollment: id, code: "rejected_other")
        await merchant.sandbox.runDue()
        #expect(receiver.bodies.map { $0["external_id"] == nil } == [true])
        #expect(receiver.bodies.first?["data"]?["status_reason_code"]?.string == "REJECTED_OTHER")
        #expect(receiver.requests.first?.headers["authorization"] == "token-1")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a running sandbox sends what a call has caused, and ends when cancelled`() async throws {
        let (requests, continuation) = AsyncStream<Request>.makeStream()
        let url = try #require(URL("https://merchant.example/webhooks/belvo"))
        let merchant = Merchant {
            $0.webhookSubscriptions = [
                WebhookSubscription(url: url, token: nil) { request in
                    continuation.yield(request)
                    return .ok
                }
            ]
        }
        let (id, _) = try await merchant.redirectedEnrollment()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await merchant.sandbox.run() }
            try merchant.sandbox.fail(enrollment: id)
            var received = requests.makeAsyncIterator()
            #expect(await received.next()?.headers.contains("authorization") == false)
            group.cancelAll()
        }
    }
}

import BelvoSandbox
import Crypto
import FoundationEssentials
import HTTP
import JSON
import Postgres
import Synchronization
import TestSupport
import Testing
import Transport

@testable import MerchantWorkflows

/// Events about payments and enrollments reach the shop: at least once, in order, signed.
@Suite struct ShopEventTests {
    private static let secret = "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())"

    /// The shop's receiver: keeps what came, and answers what the test wants.
    private final class Receiver: Sendable {
        let received = Mutex<[Request]>([])
        let status = Mutex(HTTP.Status.ok)

        var types: [String] {
            received.withLock { $0 }.compactMap { try? JSONDocument(parsing: $0.body).root["type"]?.string }
        }
    }

    /// Plays with a shop that hears.
    private static func open(
        _ body: @escaping @Sendable (TestHarness, Receiver) async throws -> Void
    ) async throws {
        let receiver = Receiver()
        let server = HTTP.Server(
            configuration: .prompt, refusal: { Response($0.status) },
            handler: { request, _ in
                receiver.received.withLock { $0.append(request) }
                return .response(Response(receiver.status.withLock { $0 }))
            })
        try await withLoop { loop in
            let listener = try Listener(at: SocketAddress(numericHost: "127.0.0.1", port: 0)!)
            try await server.listen(to: listener, on: [loop])
            let environment = [
                "SHOP_WEBHOOK_URL": "http://\(listener.address)/events?shop=1", "SHOP_WEBHOOK_SECRET": Self.secret,
            ]
            try await TestHarness.open(environment: environment) { harness in try await body(harness, receiver) }
            await server.drain(loops: [loop], within: .seconds(1))
        }
    }

    @Test func `the end of an enrollment and of a payment is told, signed as Standard Webhooks has it`() async throws {
        try await Self.open { harness, shop in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            try await harness.work()
            #expect(shop.types == ["enrollment.succeeded", "payment.succeeded"])
            let told = try #require(shop.received.withLock { $0.last })
            #expect(told.method == .post)
            #expect(told.target.description == "/events?shop=1")
            let event = try JSONDocument(parsing: told.body).root
            #expect(event["data"]?["id"]?.string == payment.id)
            #expect(event["data"]?["reference"]?.string == "order-1")
            #expect(event["data"]?["subject"]?.string == "ana")
            #expect(event["data"]?["amount"]?.string == "19.90")
            #expect(event["data"]?["status"]?.string == "SUCCEEDED")
            #expect(event["data"]?["end_to_end_id"]?.string?.utf8.count == 32)

            let id = try #require(told.headers["webhook-id"])
            let moment = try #require(told.headers["webhook-timestamp"])
            var code = HMAC<SHA256>(key: SymmetricKey(data: [UInt8](repeating: 7, count: 32)))
            code.update(data: Array("\(id).\(moment).".utf8) + told.body)
            let signature = Data(code.finalize()).base64EncodedString()
            #expect(told.headers["webhook-signature"] == "v1,\(signature)")
            let rest = try await harness.database.rows("SELECT id FROM events WHERE delivered_at IS NULL")
            #expect(rest.isEmpty)
        }
    }

    @Test func `what the shop does not take is sent again, the same, until it does`() async throws {
        try await Self.open { harness, shop in
            shop.status.withLock { $0 = .serviceUnavailable }
            var client = try await AppClient.arrive(on: harness)
            _ = try await client.enroll()
            try await harness.work()
            let attempts = shop.received.withLock { $0.count }
            #expect(attempts >= 1)
            shop.status.withLock { $0 = .ok }
            try await harness.advance(by: .seconds(30))
            try await harness.work()
            let all = shop.received.withLock { $0 }
            #expect(all.count == attempts + 1)
            #expect(Set(all.compactMap { $0.headers["webhook-id"] }).count == 1)
            #expect(Set(all.map(\.body)).count == 1)
            try await harness.advance(by: .seconds(3_600))
            try await harness.work()
            #expect(shop.received.withLock { $0.count } == all.count)
        }
    }

    @Test func `of one record nothing overtakes what was before it`() async throws {
        try await Self.open { harness, shop in
            shop.status.withLock { $0 = .internalServerError }
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.advance(by: .seconds(130))
            try await harness.work()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.advance(by: .seconds(130))
            try await harness.work()
            let refused = shop.types.count
            #expect(!shop.types.contains("payment.succeeded"))
            shop.status.withLock { $0 = .ok }
            for _ in 0..<4 {
                try await harness.advance(by: .seconds(3_601))
                try await harness.work()
            }
            let taken = shop.types.dropFirst(refused).filter { $0.hasPrefix("payment") }
            #expect(Array(taken) == ["payment.in_doubt", "payment.succeeded"])
        }
    }

    @Test func `after three days it is parked with an alarm, and what follows is still told`() async throws {
        try await Self.open { harness, shop in
            shop.status.withLock { $0 = .notFound }
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try await harness.advance(by: .seconds(3 * 86_400))
            try await harness.work()
            let parked = try await harness.database.rows(
                "SELECT type FROM ops.events_undelivered WHERE parked_at IS NOT NULL")
            #expect(parked.count == 1)
            #expect(harness.log.holds("event.parked"))
            shop.status.withLock { $0 = .ok }
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            _ = try await client.requestPayment(enrollment)
            try await harness.work()
            #expect(shop.types.last == "enrollment.failed")
        }
    }

    @Test func `a shop that wants to hear of nothing is told nothing, and nothing is kept for it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            _ = try await client.enroll()
            let events = try await harness.database.rows("SELECT id FROM events")
            #expect(events.isEmpty)
        }
    }

    @Test func `attempts follow within half a minute at first, and within the hour for ever after`() {
        let pauses = (1...20).map { EventDelivery.pause(afterAttempts: $0) }
        #expect(pauses[0] <= .seconds(30))
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(pauses[19] == .seconds(3_600))
    }
}

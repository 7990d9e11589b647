import BelvoSandbox
import HTTP
import JSON
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// Lists: newest first, page by page, and stable while rows are added.
@Suite struct ListTests {
    @Test func `pages join to the whole list although rows are added meanwhile`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            var made: [String] = []
            for _ in 0..<5 { made.append(try await client.startEnrollment().id) }

            var shown: [String] = []
            var query = "limit=2"
            var pages = 0
            while true {
                let page = try await client.app.send(.get, "/v1/enrollments?\(query)")
                #expect(page.status == 200)
                shown += try page.each("id", in: "results").compactMap(\.self)
                pages += 1
                // A row that comes while the list is being read is for the next reading.
                _ = try await client.startEnrollment()
                guard let next = try page.json["next"]?.string else { break }
                query = "limit=2&cursor=\(next)"
            }
            #expect(pages == 3)
            #expect(shown == made.reversed())
        }
    }

    @Test func `of a user with very many payments a list reads those that it shows`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            _ = try await client.openPayment(enrollment)
            try await harness.database.execute(
                """
                INSERT INTO payments (
                    id, subject, enrollment_id, state, belvo_idempotency_key, reference, holds_reference,
                    amount_centavos, description, statement_description, belvo_customer_id, belvo_enrollment_id,
                    beneficiary_bank_account, failure_code, failure_authority, closed_at_belvo, created_at,
                    updated_at)
                SELECT gen_random_uuid(), subject, enrollment_id, 'failed', gen_random_uuid(), 'order-2', false,
                    amount_centavos, description, statement_description, belvo_customer_id, belvo_enrollment_id,
                    beneficiary_bank_account, 'timed_out', 'merchant', created_at, created_at, updated_at
                FROM payments, generate_series(1, 20000)
                """)
            try await harness.database.execute("ANALYZE payments")
            let (store, ana) = (harness.merchant.dependencies.store, try UserSubject("ana"))
            let statements = [
                store.asking(of: ana, where: .init(status: .pending), before: nil, limit: 21),
                store.asking(of: ana, where: .init(status: .succeeded), before: nil, limit: 21),
                store.asking(of: ana, where: .init(reference: "order-1"), before: nil, limit: 21),
                store.asking(of: ana, where: .init(reference: "order-2"), before: nil, limit: 21),
                Store.askingForOpen(of: ana, limit: 20),
            ]
            for statement in statements {
                let plan = try await harness.database.execute("EXPLAIN (ANALYZE, TIMING OFF) \(fragment: statement)")
                    .map { try $0.decode("QUERY PLAN", as: String.self) }.joined(separator: "\n")
                // What a filter threw away, or a sort took in.
                let read = plan.matches(of: /rows=(\d+) loops|Removed by Filter: (\d+)/).compactMap {
                    Int($0.1 ?? $0.2 ?? "")
                }
                #expect((read.max() ?? .max) <= 50, "\(plan)")
            }
        }
    }

    @Test func `a page that holds exactly the rest has no next one`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for _ in 0..<2 { _ = try await client.startEnrollment() }
            let page = try await client.app.send(.get, "/v1/enrollments?limit=2")
            #expect(try page.raw("next") == "null")
            #expect(try await client.app.send(.get, "/v1/enrollments?limit=1").raw("next") != "null")
            let none = try await client.app.send(.get, "/v1/payment-intents")
            #expect(none.text == #"{"results":[],"next":null}"#)
        }
    }

    @Test func `lists are narrowed by what their records say`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let waiting = try await client.startEnrollment()
            let payment = try await client.openPayment(enrollment)
            let device = client.deviceID
            for (path, expected) in [
                ("/v1/enrollments?status=SUCCEEDED", [enrollment.id]), ("/v1/enrollments?status=PENDING", [waiting.id]),
                ("/v1/enrollments?status=FAILED", []), ("/v1/enrollments?belvo_id=\(waiting.belvoID)", [waiting.id]),
                ("/v1/enrollments?device_id=\(device)", [waiting.id, enrollment.id]),
                ("/v1/enrollments?device_id=other", []),
                ("/v1/payment-intents?reference=order-1", [payment.id]), ("/v1/payment-intents?reference=order-2", []),
                ("/v1/payment-intents?status=PENDING&reference=order-1", [payment.id]),
                ("/v1/payment-intents?status=SUCCEEDED", []),
            ] {
                let list = try await client.app.send(.get, path)
                #expect(try list.each("id", in: "results") == expected, "\(path)")
            }
            let byHeader = try await client.app.send(.get, "/v1/enrollments", headers: ["x-device-id": "other"])
            #expect(byHeader.text == #"{"results":[],"next":null}"#)
        }
    }

    @Test func `a device may be named in the header, and each filter narrows what the others leave`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let waiting = try await client.startEnrollment()
            let (device, path) = (client.deviceID, "/v1/enrollments")
            for (query, header, expected) in [
                ("", device, [waiting.id, enrollment.id]), ("?status=SUCCEEDED", device, [enrollment.id]),
                // What the address says goes before what the header says.
                ("?device_id=other", device, []), ("?device_id=\(device)", "other", [waiting.id, enrollment.id]),
                ("?device_id=\(device)&status=PENDING&belvo_id=\(waiting.belvoID)", nil, [waiting.id]),
                ("?device_id=\(device)&status=PENDING&belvo_id=\(enrollment.belvoID)", nil, []),
                ("?device_id=other&status=PENDING&belvo_id=\(waiting.belvoID)", nil, []),
                ("?status=SUCCEEDED&belvo_id=\(waiting.belvoID)", device, []),
                ("?limit=1&status=SUCCEEDED", device, [enrollment.id]),
            ] as [(String, String?, [String])] {
                let list =
                    if let header {
                        try await client.app.send(.get, path + query, headers: ["x-device-id": header])
                    } else { try await client.app.send(.get, path + query) }
                #expect(try list.each("id", in: "results") == expected, "\(query) \(header ?? "-")")
                #expect(try list.raw("next") == "null", "\(query)")
            }
        }
    }

    @Test func `a narrowed list of payments goes on where it was, although rows come and change`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            // One reference, tried again and again, between payments for other things.
            var canceled: [String] = []
            for number in 0..<5 {
                let payment = try await client.openPayment(enrollment, key: "tap-\(number)")
                #expect(try await client.cancel(payment).status == 200)
                canceled.append(payment.id)
                _ = try await client.openPayment(enrollment, reference: "other-\(number)", key: "other-\(number)")
            }
            let live = try await client.openPayment(enrollment, key: "tap-live")
            var shown: [String] = []
            var query = "status=FAILED&reference=order-1&limit=2"
            for page in 0..<3 {
                let list = try await client.app.send(.get, "/v1/payment-intents?\(query)")
                shown += try list.each("id", in: "results").compactMap(\.self)
                // Rows that come or become FAILED meanwhile are newer than the cursor: for the next reading.
                if page == 0 { #expect(try await client.cancel(live).status == 200) }
                let more = try await client.openPayment(enrollment, key: "more-\(page)")
                #expect(try await client.cancel(more).status == 200)
                let next = try list.json["next"]?.string
                #expect((next == nil) == (page == 2))
                query = "status=FAILED&reference=order-1&limit=2&cursor=\(next ?? "")"
            }
            #expect(shown == canceled.reversed())
            let both = try await client.app.send(.get, "/v1/payment-intents?status=PENDING&reference=other-3")
            #expect(try both.each("reference", in: "results") == ["other-3"])
            let none = try await client.app.send(.get, "/v1/payment-intents?status=PENDING&reference=order-1")
            #expect(none.text == #"{"results":[],"next":null}"#)
        }
    }

    @Test func `enrollments are listed while Belvo is down`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.dropRequest, on: nil, count: nil)
            let before = harness.sandbox.calls.count
            let list = try await client.app.send(.get, "/v1/enrollments")
            #expect(try list.each("id", in: "results") == [enrollment.id])
            #expect(harness.sandbox.calls.count == before)
        }
    }
}

import BelvoSandbox
import HTTP
import JSON
import Testing

/// Lists: newest first, page by page, and stable while rows are added.
@Suite struct ListTests {
    @Test func `pages join to the whole list although rows are added meanwhile`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            var made: [String] = []
            for _ in 0..<5 { made.append(try await shopper.startEnrollment().id) }

            var shown: [String] = []
            var query = "limit=2"
            var pages = 0
            while true {
                let page = try await shopper.app.send(.get, "/v1/enrollments?\(query)")
                #expect(page.status == 200)
                shown += try page.each("id", in: "results").compactMap(\.self)
                pages += 1
                // A row that comes while the list is being read is for the next reading.
                _ = try await shopper.startEnrollment()
                guard let next = try page.json["next"]?.string else { break }
                query = "limit=2&cursor=\(next)"
            }
            #expect(pages == 3)
            #expect(shown == made.reversed())
        }
    }

    @Test func `a page that holds exactly the rest has no next one`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for _ in 0..<2 { _ = try await shopper.startEnrollment() }
            let page = try await shopper.app.send(.get, "/v1/enrollments?limit=2")
            #expect(try page.raw("next") == "null")
            #expect(try await shopper.app.send(.get, "/v1/enrollments?limit=1").raw("next") != "null")
            let none = try await shopper.app.send(.get, "/v1/payment-intents")
            #expect(none.text == #"{"results":[],"next":null}"#)
        }
    }

    @Test func `lists are narrowed by what their records say`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let waiting = try await shopper.startEnrollment()
            let bill = try await shopper.bill(bond)
            let device = shopper.deviceID
            for (path, expected) in [
                ("/v1/enrollments?status=SUCCEEDED", [bond.id]), ("/v1/enrollments?status=PENDING", [waiting.id]),
                ("/v1/enrollments?status=FAILED", []), ("/v1/enrollments?belvo_id=\(waiting.belvoID)", [waiting.id]),
                ("/v1/enrollments?device_id=\(device)", [waiting.id, bond.id]), ("/v1/enrollments?device_id=other", []),
                ("/v1/payment-intents?reference=order-1", [bill.id]), ("/v1/payment-intents?reference=order-2", []),
                ("/v1/payment-intents?status=PENDING&reference=order-1", [bill.id]),
                ("/v1/payment-intents?status=SUCCEEDED", []),
            ] {
                let list = try await shopper.app.send(.get, path)
                #expect(try list.each("id", in: "results") == expected, "\(path)")
            }
            let byHeader = try await shopper.app.send(.get, "/v1/enrollments", headers: ["x-device-id": "other"])
            #expect(byHeader.text == #"{"results":[],"next":null}"#)
        }
    }

    @Test func `enrollments are listed while Belvo is down`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            stage.sandbox.next(.dropRequest, on: nil, count: nil)
            let before = stage.sandbox.calls.count
            let list = try await shopper.app.send(.get, "/v1/enrollments")
            #expect(try list.each("id", in: "results") == [bond.id])
            #expect(stage.sandbox.calls.count == before)
        }
    }
}

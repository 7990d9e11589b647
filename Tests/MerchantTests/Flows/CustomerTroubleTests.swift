import BelvoSandbox
import HTTP
import MerchantModel
import MerchantStore
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// Becoming a customer while the way to Belvo is bad.
@Suite struct CustomerTroubleTests {
    @Test(arguments: Trouble.doubts + [Trouble.missingID])
    func `a customer whose creation was not answered is looked up at once, and sent again if it is not there`(
        doubt: Trouble.UnknownOutcome
    ) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(doubt.fault, on: .createCustomer)
            let first = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(first.status == 201)
            #expect(try first.raw("account_tenure") != "null")
            #expect(harness.countCalls(.createCustomer) == (doubt.isDone ? 1 : 2))
            #expect(harness.countCalls(.listCustomers) == 1)
            let again = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(again.status == 200)
            #expect(again.text == first.text)
            #expect(harness.countCalls(.listCustomers) == 1)
        }
    }

    @Test(arguments: [DuplicateCustomers.refused, .returned, nil])
    func `a tax number that Belvo has under another account is said, and stays said`(
        reading: DuplicateCustomers?
    ) async throws {
        try await TestHarness.open { harness in
            if let reading { harness.sandbox.variants.duplicateCustomers = reading }
            _ = try await harness.app(of: "ana").send(.put, "/v1/customer", AppClient.customerBody())
            let app = try await harness.app(of: "ana's second account")
            if reading == nil { harness.sandbox.next(.refused(409, code: "conflict"), on: .createCustomer, count: nil) }
            for _ in 0..<2 {
                for (method, body) in [(HTTP.Method.put, AppClient.customerBody()), (.get, nil)] {
                    let answer = try await app.send(method, "/v1/customer", body)
                    #expect(answer.status == 409, "\(method)")
                    #expect(try answer.string("code") == "identifier_in_use", "\(method)")
                }
                try await harness.pass(.seconds(90))
            }
            // Where Belvo has released it the same request succeeds.
            harness.sandbox.clearFaults()
            harness.sandbox.variants.duplicateCustomers = .created
            #expect(try await app.send(.put, "/v1/customer", AppClient.customerBody()).status == 201)
            #expect(try await app.send(.get, "/v1/customer").status == 200)
        }
    }

    @Test func `a customer without a time of creation is read again`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(.altered([.init("/created_at", nil)]), on: .createCustomer)
            let answer = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(answer.status == 201)
            #expect(try answer.raw("account_tenure") != "null")
        }
    }

    @Test(arguments: Trouble.doubts + [Trouble.missingID])
    func `a customer whose creation nobody can look up is asked for once, and found or made again`(
        doubt: Trouble.UnknownOutcome
    ) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(doubt.fault, on: .createCustomer)
            harness.sandbox.next(.dropRequest, on: .listCustomers, count: 2)
            for _ in 0..<2 {
                let answer = try await app.send(.put, "/v1/customer", AppClient.customerBody())
                #expect(answer.status == 202)
                #expect(try answer.raw("belvo_id") == "null")
                #expect(try answer.raw("next_action") == #"{"type":"poll","after_ms":2000}"#)
            }
            #expect(harness.countCalls(.createCustomer) == 1)

            try await harness.poll()
            let found = try await app.send(.get, "/v1/customer")
            #expect(try (found.raw("belvo_id") != "null") == doubt.isDone)
            // What Belvo does not know after the grace time was lost; then it is asked for again.
            try await harness.pass(.seconds(70))
            let again = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(again.status == (doubt.isDone ? 200 : 201))
            #expect(harness.countCalls(.createCustomer) == (doubt.isDone ? 1 : 2))
            #expect(try again.raw("next_action") == "null")
        }
    }

    @Test(arguments: Trouble.turnedAway)
    func `a customer who was turned away may try again at once`(trouble: Trouble.TurnedAway) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(trouble.fault, on: .createCustomer)
            try trouble.expectTold(on: harness, try await app.send(.put, "/v1/customer", AppClient.customerBody()))
            #expect(try await app.send(.put, "/v1/customer", AppClient.customerBody()).status == 201)
        }
    }

    @Test func `another tax number is refused while the first is on its way, and after`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(.dropAnswer, on: .createCustomer)
            harness.sandbox.next(.dropRequest, on: .listCustomers)
            #expect(try await app.send(.put, "/v1/customer", AppClient.customerBody()).status == 202)
            for _ in 0..<2 {
                let other = try await app.send(.put, "/v1/customer", AppClient.customerBody(taxID: "111.444.777-35"))
                #expect(other.status == 409)
                #expect(try other.string("code") == "identifier_differs")
                try await harness.poll()
            }
        }
    }
}

import BelvoSandbox
import HTTP
import Testing

@testable import Merchant

/// What becomes of everybody's wishes while Belvo as a whole is away, or does not let the server in.
@Suite struct BelvoAwayTests {
    /// Asks for something that Belvo is needed for and that changes nothing, as often as it takes to notice that it is
    /// away.
    private func knock(_ shopper: Shopper, times: Int = Circuit.callsMin) async throws -> [Answer] {
        // Of many users: what one person's calls meet alone is no judgement about Belvo.
        var answers: [Answer] = []
        for number in 0..<times {
            answers.append(try await shopper.stage.app(of: "user-\(number)").send(.post, "/v1/widget-token"))
        }
        return answers
    }

    private func count(_ event: String, _ stage: Stage) -> Int {
        stage.log.all.filter { $0.hasPrefix("\(event) ") }.count
    }

    @Test(arguments: [Fault.dropRequest, .refused(503, code: "unavailable"), .garbage, .garbageBody])
    func `the circuit opens, apps are told when to come again, and all goes on when Belvo is back`(
        fault: Fault
    ) async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            stage.sandbox.next(fault, on: nil, count: nil)
            _ = try await knock(shopper)
            #expect(count("belvo.circuit_opened", stage) == 1)
            #expect(stage.merchant.belvoSnapshot.circuit == .open)

            let calls = stage.sandbox.calls.count
            let refused = try await shopper.openPayment(bond, reference: "order-2", key: "tap-2")
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "belvo_unavailable")
            let wait = try #require(refused.response.headers["retry-after"].flatMap { Int($0) })
            #expect((1...7).contains(wait))
            try await stage.poll()
            #expect(stage.sandbox.calls.count == calls)
            #expect(try await shopper.payment(bill).string("status") == "PENDING")

            stage.sandbox.clearFaults()
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(7))
            #expect(count("belvo.circuit_closed", stage) == 1)
            try await stage.poll()
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
            // The key was not used up by what never left.
            #expect(try await shopper.openPayment(bond, reference: "order-2", key: "tap-2").status == 201)
        }
    }

    @Test func `a signature that comes as Belvo may be back is not what finds out`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            stage.sandbox.next(.dropRequest, on: nil, count: nil)
            _ = try await knock(shopper)
            stage.clock.advance(by: .seconds(6.5))
            let signed = try await shopper.authorize(bill)
            #expect(signed.status == 503)
            #expect(stage.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await shopper.payment(bill).string("next_action", "type") == "sign")
            // Somebody's read finds out, and the same signature is taken.
            stage.sandbox.clearFaults()
            #expect(try await knock(shopper, times: 1).map(\.status) == [201])
            #expect(try await shopper.authorize(bill).status == 204)
        }
    }

    @Test func `a minute of 401 is one alarm and no storm, and nothing is lost by it`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            let calls = stage.sandbox.calls.count
            stage.sandbox.next(.refused(401, code: "authentication_failed"), on: nil, count: nil)
            try await stage.poll(times: 30)
            // Three to be sure, and one each half minute.
            #expect(stage.sandbox.calls.count - calls <= 5)
            #expect(count("belvo.denied", stage) == 1)
            let told = try await knock(shopper)
            // Belvo is not quoted for what it was not asked: what is kept here says so itself.
            #expect(try told[9].string("code") == "belvo_unavailable")
            #expect(told[9].response.headers["retry-after"] != nil)
            #expect(stage.sandbox.calls.count - calls <= 8)
            #expect(count("belvo.denied", stage) == 1)
            #expect(stage.merchant.belvoSnapshot.isLockedOut)
            #expect(try await shopper.payment(bill).string("status") == "PENDING")

            stage.sandbox.clearFaults()
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(31))
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
            #expect(count("belvo.admitted", stage) == 1)
            #expect(!stage.merchant.belvoSnapshot.isLockedOut)
        }
    }

    @Test func `the firewall's dislike of one person's words stops nobody else`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            stage.sandbox.next(.forbiddenPage, on: .createEnrollment, count: 5)
            for _ in 0..<5 {
                let answer = try await shopper.app.send(.post, "/v1/enrollments", shopper.enrollmentBody)
                #expect(answer.status == 502)
            }
            #expect(count("belvo.content_forbidden", stage) == 1)
            #expect(count("belvo.denied", stage) == 0)
            _ = try await shopper.startEnrollment()
        }
    }

    @Test func `a 429 silences people and workers alike for as long as Belvo asks`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            stage.sandbox.next(.tooManyRequests(retryAfter: 30), on: .getPaymentIntent)
            try await stage.poll()
            #expect(count("belvo.throttled", stage) == 1)
            let calls = stage.sandbox.calls.count
            let refused = try await shopper.openPayment(bond, reference: "order-2", key: "tap-2")
            #expect(refused.status == 503)
            let wait = try #require(refused.response.headers["retry-after"].flatMap { Int($0) })
            #expect((25...39).contains(wait))
            try await stage.poll(times: 3)
            #expect(stage.sandbox.calls.count == calls)
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(38))
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }
}

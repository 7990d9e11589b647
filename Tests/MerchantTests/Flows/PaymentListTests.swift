import BelvoSandbox
import FoundationEssentials
import Payments
import Postgres
import TestSupport
import Testing

@testable import MerchantServer

/// When more than a handful of payments pend, one page of Belvo's list shows all of them. A list is evidence of what
/// it shows, and of nothing else: it may lag, end early, heed no filter and change its order between two pages.
@Suite struct PaymentListTests {
    private static let count = 12

    /// So many signed payments that Belvo has not decided.
    private static func open(
        count: Int = count,
        _ body: @escaping @Sendable (TestHarness, AppClient, [AppClient.OpenedPayment]) async throws -> Void
    ) async throws {
        try await openEnrolled(count: count) { harness, client, _, payments in try await body(harness, client, payments)
        }
    }

    /// The same, for what is paid from the same enrollment later.
    private static func openEnrolled(
        count: Int = count,
        _ body:
            @escaping @Sendable (
                TestHarness, AppClient, AppClient.Enrollment, [AppClient.OpenedPayment]
            ) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payments = try await sign(count, &client, enrollment)
            try await body(harness, client, enrollment, payments)
        }
    }

    /// From now on Belvo shows each intent as it was when it had failed.
    private static func showFailed(_ harness: TestHarness) {
        harness.sandbox.next(
            .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
            on: .getPaymentIntent, count: nil)
    }

    private static func sign(
        _ count: Int, _ client: inout AppClient, _ enrollment: AppClient.Enrollment
    ) async throws -> [AppClient.OpenedPayment] {
        var payments: [AppClient.OpenedPayment] = []
        for number in 0..<count {
            let payment = try await client.openPayment(
                enrollment, reference: "order-\(number)", key: "tap-\(number)")
            try await client.authorize(payment)
            payments.append(payment)
        }
        return payments
    }

    private static func statuses(_ client: AppClient, _ payments: [AppClient.OpenedPayment]) async throws -> [String] {
        var found: [String] = []
        for payment in payments { found.append(try await client.payment(payment).string("status")) }
        return found
    }

    private static func calls(_ harness: TestHarness) -> (lists: Int, readings: Int) {
        (harness.countCalls(.listPaymentIntents), harness.countCalls(.getPaymentIntent))
    }

    @Test func `a dozen that Belvo has not decided cost one page and two readings`() async throws {
        try await Self.open { harness, client, payments in
            for _ in 1...3 {
                let before = Self.calls(harness)
                try await harness.poll()
                let after = Self.calls(harness)
                #expect(after.lists == before.lists + 1)
                #expect(after.readings == before.readings + 2)
            }
            #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "PENDING" })
        }
    }

    @Test(arguments: [#""FAILED""#, #""SUCCEEDED""#])
    func `money that a list has shown, and the reading after it does not, keeps the reference`(status: String)
        async throws
    {
        try await Self.openEnrolled { harness, client, enrollment, payments in
            try harness.sandbox.settle(intent: payments[0].belvoID)
            harness.sandbox.next(.altered([Fault.Alteration("/results/*/status", status)]), on: .listPaymentIntents)
            Self.showFailed(harness)
            try await harness.poll()
            #expect(try await client.payment(payments[0]).string("status") == "FAILED")
            #expect(try await client.requestPayment(enrollment, reference: "order-0", key: "again").status == 503)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(21))
            #expect(try await Set(MayBelvoStillPayTests.alarms(on: harness)) == ["contradiction"])
        }
    }

    @Test func `money that a list shows of what a webhook has closed as failed meanwhile keeps the reference`()
        async throws
    {
        try await Self.openEnrolled { harness, client, enrollment, payments in
            try await TakenBackTests.hearFailure(harness, of: payments[0].belvoID)
            try harness.sandbox.settle(intent: payments[0].belvoID)
            try await harness.poll()
            Self.showFailed(harness)
            #expect(try await client.requestPayment(enrollment, reference: "order-0", key: "again").status == 503)
        }
    }

    @Test func `money that a list has shown, and the reading after it cannot show, is known to other servers`()
        async throws
    {
        try await Self.openEnrolled { harness, client, enrollment, payments in
            try harness.sandbox.settle(intent: payments[0].belvoID)
            harness.sandbox.next(.refused(500, code: "away"), on: .getPaymentIntent, count: nil)
            try await harness.poll()
            harness.sandbox.clearFaults()
            // The other server's list shows no money, nor do the readings from then on.
            harness.sandbox.next(.refused(500, code: "away"), on: .listPaymentIntents, count: nil)
            Self.showFailed(harness)
            try await harness.withAnotherInstance { other in
                try await harness.advance(by: .seconds(12))
                try await other.work()
                #expect(try await client.payment(payments[0]).string("status") == "FAILED")
                #expect(
                    try await client.requestPayment(enrollment, reference: "order-0", key: "again").status == 503)
            }
        }
    }

    @Test func `money that lists go on showing of a failed payment is looked for all the same`() async throws {
        try await Self.openEnrolled { harness, client, enrollment, payments in
            try await TakenBackTests.hearFailure(harness, of: payments[0].belvoID)
            try harness.sandbox.settle(intent: payments[0].belvoID)
            for _ in 1...12 { try await harness.poll() }
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
        }
    }

    @Test func `a payment that Belvo is slow to show by itself keeps no later list waiting`() async throws {
        let gate = Gate()
        try await TestHarness.open(sandbox: .test(pausingAt: gate)) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            _ = try await Self.sign(Self.count, &client, enrollment)
            harness.sandbox.next(.delayRequest(.seconds(9)), on: .getPaymentIntent)
            let before = Self.calls(harness)
            async let slow: Void = harness.poll()
            try await harness.awaitCondition { Self.calls(harness).readings == before.readings + 1 }
            for _ in 0..<3 { try await harness.poll() }
            #expect(Self.calls(harness).lists == before.lists + 4)
            gate.open()
            try await slow
        }
    }

    @Test func `while a list is asked for another pass reads nothing that it may show`() async throws {
        try await Self.open { harness, _, _ in
            // The list answers late; meanwhile the worker has another pass.
            harness.sandbox.next(.delayAnswer(.milliseconds(500)), on: .listPaymentIntents)
            try await harness.advance(by: .seconds(3))
            let before = Self.calls(harness)
            var arrivals = harness.sandbox.arrivals().makeAsyncIterator()
            async let first: Void = harness.work()
            while let call = await arrivals.next(), call.endpoint != .listPaymentIntents {}
            try await harness.work()
            #expect(Self.calls(harness) == (before.lists + 1, before.readings))
            try await first
            #expect(Self.calls(harness) == (before.lists + 1, before.readings + 2))
        }
    }

    @Test func `a handful is read one by one`() async throws {
        try await Self.open(count: 7) { harness, _, _ in
            let before = Self.calls(harness)
            try await harness.poll()
            #expect(Self.calls(harness).lists == before.lists)
            #expect(Self.calls(harness).readings == before.readings + 7)
        }
    }

    @Test func `what a list shows as paid is read by itself at once, and nothing else is`() async throws {
        try await Self.open { harness, client, payments in
            for payment in payments.prefix(4) { try harness.sandbox.settle(intent: payment.belvoID) }
            let before = Self.calls(harness)
            try await harness.poll()
            let found = try await Self.statuses(client, payments)
            #expect(found == Array(repeating: "SUCCEEDED", count: 4) + Array(repeating: "PENDING", count: 8))
            #expect(Self.calls(harness).lists == before.lists + 1)
            // Two of those that wait are read beside each list.
            #expect(Self.calls(harness).readings == before.readings + 6)
        }
    }

    @Test func `a failure that a list shows counts once the payment itself was read`() async throws {
        try await Self.open { harness, client, payments in
            try harness.sandbox.fail(intent: payments[3].belvoID)
            // The list is right, and the payment itself says otherwise for a while.
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""PENDING""#)]), on: .getPaymentIntent, count: 3)
            try await harness.poll()
            #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "PENDING" })
            try await harness.poll()
            var expected = Array(repeating: "PENDING", count: Self.count)
            expected[3] = "FAILED"
            #expect(try await Self.statuses(client, payments) == expected)
        }
    }

    @Test(arguments: ["/amount", "/customer", "/external_id"])
    func `what a list shows as paid but as another payment is read by itself, and not believed`(member: String)
        async throws
    {
        try await Self.open { harness, client, payments in
            let others = ["/amount": #""400.00""#]
            let other = others[member] ?? #""99999999-9999-4999-8999-999999999998""#
            try harness.sandbox.settle(intent: payments[0].belvoID)
            harness.sandbox.next(.altered([Fault.Alteration("/results/*\(member)", other)]), on: .listPaymentIntents)
            harness.sandbox.next(.altered([Fault.Alteration(member, other)]), on: .getPaymentIntent, count: nil)
            try await harness.poll()
            #expect(try await client.payment(payments[0]).string("status") == "PENDING")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").contains("differs"))
            harness.sandbox.clearFaults()
            try await harness.poll(times: 2)
            #expect(try await client.payment(payments[0]).string("status") == "SUCCEEDED")
        }
    }

    @Test func `lists that end early, heed no filter or change their order leave nothing unseen`() async throws {
        for variant in ["early", "ignored", "oldest", "turning"] {
            try await Self.open { harness, client, payments in
                switch variant {
                case "early": harness.sandbox.variants.listEnd = .early
                case "ignored": harness.sandbox.variants.listFilters = .ignored
                case "oldest": harness.sandbox.variants.listOrder = .oldestFirst
                default:
                    harness.sandbox.variants.listOrder = .turning
                    harness.sandbox.variants.pageSizeMax = 5
                }
                for payment in payments { try harness.sandbox.settle(intent: payment.belvoID) }
                try await harness.poll(times: 2)
                #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "SUCCEEDED" }, "\(variant)")
            }
        }
    }

    @Test func `a list that lags is noticed, and everything is read by itself for a minute`() async throws {
        try await Self.open { harness, client, payments in
            harness.sandbox.variants.listStateLagMilliseconds = 3_600_000
            for payment in payments { try harness.sandbox.settle(intent: payment.belvoID) }
            try await harness.poll(times: 2)
            #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "SUCCEEDED" })
            #expect(harness.log.holds("payments.list_lags"))
        }
    }

    @Test func `a payment that was decided between a list and its reading is no sign that lists lag`() async throws {
        try await Self.open { harness, client, payments in
            // This list shows all undecided, and what is read beside it is decided.
            harness.sandbox.variants.listStateLagMilliseconds = 3_600_000
            for payment in payments.prefix(2) { try harness.sandbox.settle(intent: payment.belvoID) }
            try await harness.poll()
            harness.sandbox.variants.listStateLagMilliseconds = 0
            for _ in 1...2 {
                let before = Self.calls(harness).lists
                try await harness.poll()
                #expect(Self.calls(harness).lists == before + 1)
            }
            #expect(!harness.log.holds("payments.list_lags"))
            #expect(try await Self.statuses(client, payments).count { $0 == "SUCCEEDED" } == 2)
        }
    }

    @Test func `a payment that another session has locked keeps no other waiting`() async throws {
        try await Self.open { harness, client, payments in
            let (locked, free) = (payments[0], payments[6])
            let id = try #require(UUID(uuidString: locked.belvoID))
            try await harness.poll()
            try harness.sandbox.settle(intent: free.belvoID)
            try await harness.database.transaction { transaction in
                _ = try await transaction.rows("SELECT id FROM payments WHERE belvo_id = \(id) FOR UPDATE")
                try await harness.poll()
                #expect(try await client.payment(free).string("status") == "SUCCEEDED")
            }
            try harness.sandbox.settle(intent: locked.belvoID)
            try await harness.poll(times: 2)
            #expect(try await client.payment(locked).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a list that cannot be read costs no decision`() async throws {
        try await Self.open { harness, client, payments in
            harness.sandbox.next(.statusAfter(500), on: .listPaymentIntents, count: nil)
            for payment in payments { try harness.sandbox.settle(intent: payment.belvoID) }
            try await harness.poll(times: 2)
            #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "SUCCEEDED" })
        }
    }

    @Test func `after a list that could not be read one is asked for soon, and ever later`() async throws {
        try await Self.open { harness, _, _ in
            try await harness.stopClock()
            harness.sandbox.next(.statusAfter(500), on: .listPaymentIntents, count: nil)
            var polls: [Bool] = []
            for _ in 0..<8 {
                let before = Self.calls(harness).lists
                try await harness.poll()
                polls.append(Self.calls(harness).lists > before)
            }
            #expect(polls == [true, true, false, true, false, false, false, true])
            // Belvo is back: one that can be read is followed by others.
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(20))
            let before = Self.calls(harness).lists
            for _ in 0..<3 { try await harness.poll() }
            #expect(Self.calls(harness).lists == before + 3)
        }
    }

    @Test func `what is in doubt is told of by lists too, and ends by Belvo's status alone`() async throws {
        try await Self.open { harness, client, payments in
            try await harness.pass(.seconds(121))
            for payment in payments { #expect(try await client.payment(payment).raw("in_doubt") == "true") }
            let before = Self.calls(harness)
            try await harness.pass(.seconds(11))
            #expect(Self.calls(harness).lists == before.lists + 1)
            #expect(Self.calls(harness).readings == before.readings + 2)
            for payment in payments { try harness.sandbox.settle(intent: payment.belvoID) }
            try await harness.pass(.seconds(11))
            #expect(try await Self.statuses(client, payments).allSatisfy { $0 == "SUCCEEDED" })
        }
    }
}

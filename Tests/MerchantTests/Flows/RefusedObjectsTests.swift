import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing

/// Refusals of some users' objects keep no others waiting.
@Suite(.timeLimit(.minutes(2))) struct RefusedObjectsTests {
    /// How long after it is decided at Belvo a payment may be undecided here: a poll's interval, and the time until
    /// calls have found out that the refusals are some users' own.
    private static let patience = Duration.seconds(8)

    @Test(arguments: [Status(401), .tooManyRequests])
    func `objects of ten users that are refused, and the lists that hold them, do not keep others' results`(
        status: Status
    ) async throws {
        let refused = Box<Set<String>>([])
        let refusal: @Sendable (Request) -> Response? = { Self.refusal(status, of: $0, refused.value) }
        try await TestHarness.open(instead: refusal) { harness in
            harness.sandbox.variants.webhookCopies = 0
            var hostile: [String] = []
            for number in 0..<10 {
                var client = try await AppClient.arrive(on: harness, as: "bad-\(number)", taxID: Self.taxID(number))
                let enrollment = try await client.enroll()
                for place in 0..<10 {
                    hostile.append(try await Self.pay(&client, enrollment, "bad-\(number)-\(place)").belvoID)
                }
            }
            var others: [(client: AppClient, enrollment: AppClient.Enrollment)] = []
            for number in 10..<14 {
                var client = try await AppClient.arrive(on: harness, as: "other-\(number)", taxID: Self.taxID(number))
                let enrollment = try await client.enroll()
                others.append((client, enrollment))
            }
            try await harness.stopClock()
            refused.update { [hostile] in $0 = Set(hostile) }
            var elapsed: [Duration] = []
            for round in 0..<3 {
                for place in others.indices {
                    let payment = try await Self.pay(
                        &others[place].client, others[place].enrollment, "other-\(place)-\(round)")
                    try harness.sandbox.settle(intent: payment.belvoID)
                }
                elapsed.append(try await Self.untilPaid(others.count * (round + 1), harness, naming: hostile))
            }
            #expect(elapsed.allSatisfy { $0 <= Self.patience }, "\(elapsed)")
        }
    }

    @Test(arguments: [Status.internalServerError, Status(401), .tooManyRequests])
    func `users who are refused whatever they ask for, and newcomers beside them, keep no others' results`(
        status: Status
    ) async throws {
        let refused = Box<Set<String>>([])
        let isRefusingAll = Box(false)
        let refusal: @Sendable (Request) -> Response? = { request in
            isRefusingAll.value ? Self.refusal(status) : Self.refusal(status, of: request, refused.value)
        }
        try await TestHarness.open(instead: refusal) { harness in
            harness.sandbox.variants.webhookCopies = 0
            var hostile: [(client: AppClient, enrollment: AppClient.Enrollment, payments: [String])] = []
            for number in 0..<8 {
                var client = try await AppClient.arrive(on: harness, as: "bad-\(number)", taxID: Self.taxID(number))
                let enrollment = try await client.enroll()
                var payments: [String] = []
                for place in 0..<10 {
                    payments.append(try await Self.pay(&client, enrollment, "bad-\(number)-\(place)").belvoID)
                }
                hostile.append((client, enrollment, payments))
            }
            var client = try await AppClient.arrive(on: harness, as: "other", taxID: Self.taxID(10))
            let enrollment = try await client.enroll()
            try await harness.stopClock()
            refused.update { [hostile] in $0 = Set(hostile.flatMap(\.payments)) }
            let step = Duration.milliseconds(250)
            var (paid, waits, opened) = (0, [Duration](), Duration.zero)
            var payment: AppClient.OpenedPayment?
            for number in 1...160 where paid < 3 {
                isRefusingAll.update { $0 = true }
                let one = hostile[number % hostile.count]
                _ = try await one.client.requestPayment(
                    one.enrollment, reference: "more-\(number)", key: "more-\(number)")
                let newcomer = try await harness.app(of: "new-\(number)")
                _ = try await newcomer.send(.put, "/v1/customer", AppClient.customerBody(taxID: Self.taxID(20)))
                isRefusingAll.update { $0 = false }
                try await harness.tell("PAYMENT_INTENTS", of: one.payments[number % 10])
                let now = step * number
                if payment == nil {
                    let key = "other-\(paid)"
                    let answer = try await client.requestPayment(enrollment, reference: key, key: key)
                    if answer.status == 201 {
                        let made = AppClient.OpenedPayment(
                            id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
                        try await client.authorize(made)
                        try harness.sandbox.settle(intent: made.belvoID)
                        payment = made
                    }
                }
                try await harness.advance(by: step)
                try await harness.work()
                let count = try await harness.lines(
                    "SELECT count(*)::text AS line FROM payments WHERE status = 'SUCCEEDED'")
                if payment != nil, count == ["\(paid + 1)"] {
                    paid += 1
                    waits.append(now - opened)
                    (payment, opened) = (nil, now)
                }
            }
            #expect(paid == 3 && waits.allSatisfy { $0 <= Self.patience }, "\(waits)")
        }
    }

    private static func pay(
        _ client: inout AppClient, _ enrollment: AppClient.Enrollment, _ reference: String
    ) async throws -> AppClient.OpenedPayment {
        let payment = try await client.openPayment(enrollment, reference: reference, key: reference)
        try await client.authorize(payment)
        return payment
    }

    /// How long it takes until so many are paid, while webhooks name what is refused.
    private static func untilPaid(
        _ count: Int, _ harness: TestHarness, naming hostile: [String]
    ) async throws -> Duration {
        let step = Duration.milliseconds(250)
        for number in 1...240 {
            try await harness.tell("PAYMENT_INTENTS", of: hostile[number % hostile.count])
            try await harness.advance(by: step)
            try await harness.work()
            let paid = try await harness.lines(
                "SELECT count(*)::text AS line FROM payments WHERE status = 'SUCCEEDED'")
            if paid == ["\(count)"] { return step * number }
        }
        return step * 240
    }

    private static func refusal(_ status: Status, of request: Request, _ refused: Set<String>) -> Response? {
        let names = request.target.path.split(separator: "/")
        guard request.method == .get, names.starts(with: ["payments", "br", "payment-intents"]), !refused.isEmpty,
            names.count == 3 || refused.contains(String(names[3]))
        else { return nil }
        return refusal(status)
    }

    private static func refusal(_ status: Status) -> Response {
        var response = Response(status)
        if status == .tooManyRequests { response.headers.append("retry-after", "60") }
        return response
    }

    /// A CPF with its check digits.
    private static func taxID(_ number: Int) -> String {
        var digits = [5, 2, 9, 9, 8, 2, number / 10, number % 10, 7]
        for length in [9, 10] {
            let sum = zip(digits, (2...length + 1).reversed()).map(*).reduce(0, +)
            digits.append(sum * 10 % 11 % 10)
        }
        return digits.map(String.init).joined()
    }
}

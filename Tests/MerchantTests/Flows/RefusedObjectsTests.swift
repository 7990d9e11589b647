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

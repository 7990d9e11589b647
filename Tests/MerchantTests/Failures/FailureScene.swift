import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Postgres
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer

/// One call to Belvo at the point of a flow where it is made, ready to go wrong.
///
/// Nothing moves by itself on the harness: who comes there is a new user each time.
struct FailureScene {
    let endpoint: Endpoint
    /// Makes the call, through the request of an app or the look of a worker, and says what the app hears.
    let act: () async throws -> String
    /// The record that it is about.
    let record: () async throws -> String

    /// Leads a new user to where the call is made. Nothing for calls that the server does not make.
    init?(_ call: Call, user number: Int, on harness: TestHarness) async throws {
        let subject = "user-\(number)"
        let app = try await harness.app(of: subject)
        func state(_ table: SQL) -> () async throws -> String {
            {
                let found = try await harness.lines(
                    """
                    SELECT state || coalesce(': ' || failure_code, '')
                        || CASE WHEN in_doubt THEN ', in doubt' ELSE '' END AS line
                    FROM \(fragment: table) WHERE subject = \(subject) ORDER BY id DESC LIMIT 1
                    """)
                return found.first ?? "none"
            }
        }
        let none: () async throws -> String = { "–" }
        let customer = state(
            "(SELECT id, subject, state, NULL AS failure_code, false AS in_doubt FROM customers) AS row")
        let enrollmentState = state("(SELECT *, false AS in_doubt FROM enrollments) AS row")
        let paymentState = state("payments")
        func arrive() async throws -> AppClient {
            try await AppClient.arrive(on: harness, as: subject, taxID: Self.cpf(number))
        }

        switch call {
        case .readCustomer: return nil
        case .listInstitutions:
            self.init(.listInstitutions, none) { Self.told(try await app.send(.get, "/v1/institutions")) }
        case .mintWidgetToken:
            self.init(.createWidgetToken, none) { Self.told(try await app.send(.post, "/v1/widget-token")) }
        case .refreshWidgetToken:
            _ = try await app.send(.post, "/v1/widget-token")
            try await harness.advance(by: .seconds(580))
            self.init(.refreshWidgetToken, none) { Self.told(try await app.send(.post, "/v1/widget-token")) }
        case .createCustomer, .findCustomers:
            let body = AppClient.customerBody(taxID: Self.cpf(number))
            self.init(call == .createCustomer ? .createCustomer : .listCustomers, customer) {
                if call == .findCustomers { harness.sandbox.next(.dropAnswer, on: .createCustomer) }
                return Self.told(try await app.send(.put, "/v1/customer", body))
            }
        case .createEnrollment, .listEnrollments:
            let client = try await arrive()
            self.init(call == .createEnrollment ? .createEnrollment : .listEnrollments, enrollmentState) {
                if call == .listEnrollments { harness.sandbox.next(.dropAnswer, on: .createEnrollment) }
                let answer = try await app.send(
                    .post, "/v1/enrollments", client.enrollmentBody, headers: ["idempotency-key": "tap"])
                return Self.told(answer)
            }
        case .completeRedirection:
            let client = try await arrive()
            let reply = try client.decide(try await client.startEnrollment())
            self.init(.completeRedirection, enrollmentState) { Self.told(try await client.complete(reply)) }
        case .readRegistrationOptions:
            let client = try await arrive()
            let enrollment = try await client.startEnrollment()
            try await client.complete(try client.decide(enrollment))
            try harness.sandbox.makeReady(enrollment: enrollment.belvoID)
            self.init(.getFIDORegistrationOptions, enrollmentState) {
                try await harness.poll()
                return Self.told(try await app.send(.get, "/v1/enrollments/\(enrollment.id)/fido-registration-options"))
            }
        case .confirmEnrollment, .readEnrollment:
            var client = try await arrive()
            let enrollment = try await client.reachFingerprint()
            let confirmation = try await client.confirmation(of: enrollment)
            let path = "/v1/enrollments/\(enrollment.id)"
            if call == .confirmEnrollment {
                self.init(.confirmEnrollment, enrollmentState) {
                    Self.told(try await app.send(.post, path + "/confirm", confirmation))
                }
            } else {
                _ = try await app.send(.post, path + "/confirm", confirmation)
                try harness.sandbox.settle(enrollment: enrollment.belvoID)
                self.init(.getEnrollment, enrollmentState) {
                    try await harness.poll()
                    return Self.told(try await app.send(.get, path))
                }
            }
        case .createPaymentIntent, .findPaymentIntents:
            var client = try await arrive()
            let enrollment = try await client.enroll()
            let body = client.paymentBody(enrollment)
            self.init(call == .createPaymentIntent ? .createPaymentIntent : .listPaymentIntents, paymentState) {
                if call == .findPaymentIntents { harness.sandbox.next(.dropAnswer, on: .createPaymentIntent) }
                let answer = try await app.send(
                    .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap"])
                return Self.told(answer)
            }
        case .authorizePaymentIntent, .readPaymentIntent, .readCharge, .readTransaction, .listCharges:
            var client = try await arrive()
            let payment = try await client.openPayment(try await client.enroll())
            let authorization = try client.authorization(of: payment)
            let path = "/v1/payment-intents/\(payment.id)"
            if call == .authorizePaymentIntent {
                self.init(.authorizePaymentIntent, paymentState) {
                    Self.told(try await app.send(.post, path + "/authorize", authorization))
                }
                return
            }
            _ = try await app.send(.post, path + "/authorize", authorization)
            try harness.sandbox.settle(intent: payment.belvoID)
            switch call {
            case .readPaymentIntent:
                self.init(.getPaymentIntent, paymentState) {
                    try await harness.poll()
                    return Self.told(try await app.send(.get, path))
                }
            case .listCharges:
                self.init(.listCharges, paymentState) {
                    do {
                        let day = UTCDay(of: WallClock.now())
                        let found = try await harness.operate { try await $0.reconcile(day) }
                        let own = found.filter { $0.intent?.description.lowercased() == payment.belvoID }
                        return "`merchant reconcile` finds "
                            + (own.isEmpty ? "nothing" : own.map(\.kind.rawValue).joined(separator: ", "))
                    } catch is BelvoError {
                        return "`merchant reconcile` gives up"
                    }
                }
            default:
                let (type, endpoint): (String, Endpoint) =
                    call == .readCharge ? ("CHARGES", .getCharge) : ("TRANSACTIONS", .getTransaction)
                let movement = try #require(harness.sandbox.movement(type, of: payment.belvoID))
                self.init(endpoint, paymentState) {
                    try await harness.tell(type, of: movement)
                    // The payment's own look is not due yet.
                    try await harness.work()
                    return Self.told(try await app.send(.get, path))
                }
            }
        }
    }

    private init(
        _ endpoint: Endpoint, _ record: @escaping () async throws -> String, act: @escaping () async throws -> String
    ) {
        self.endpoint = endpoint
        self.act = act
        self.record = record
    }

    /// Injects the fault, polls the record for a while, and asks for the same once more.
    func play(_ mishap: Mishap, on harness: TestHarness) async throws -> FailureRow {
        let before = harness.countCalls(endpoint)
        harness.sandbox.next(mishap.fault, on: endpoint)
        let told = try await act()
        harness.sandbox.clearFaults()
        let first = try await record()
        var later = "stays"
        var passed = Duration.zero
        for span in [3, 16, 80] where later == "stays" && first != "–" {
            try await harness.advance(by: .seconds(span) - passed)
            passed = .seconds(span)
            try await harness.work()
            let now = try await record()
            if now != first { later = "\(now) within \(span) s" }
        }
        let calls = harness.countCalls(endpoint) - before
        // What Belvo asked for by 429, or the gate decided by itself, is over.
        try await harness.advance(by: .seconds(30))
        let again = try await act()
        return FailureRow(
            mishap: mishap.name, told: told, record: first, later: first == "–" ? "–" : later, calls: calls,
            again: again)
    }

    private static func told(_ answer: Answer) -> String {
        // An answer without a code is none of our problems.
        let code = (try? answer.json)?["code"]?.string
        let status = (try? answer.json)?["status"]?.string
        return [String(answer.status), code ?? status].compactMap(\.self).joined(separator: " ")
    }

    /// A CPF with its two check digits, another for each number.
    private static func cpf(_ number: Int) -> String {
        var digits = "\(140_000_000 + number)".utf8.map { Int($0) - 48 }
        for _ in 0..<2 {
            let sum = digits.reversed().enumerated().reduce(0) { $0 + $1.element * ($1.offset + 2) }
            digits.append(sum * 10 % 11 % 10)
        }
        return digits.map(String.init).joined()
    }
}

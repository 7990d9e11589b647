import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Postgres
import Testing
import Transport

@testable import Merchant

/// One call to Belvo at the point of a journey where it is made, ready to go wrong.
///
/// Nothing moves by itself on the stage: who comes there is a new user each time.
struct FailureScene {
    let endpoint: Endpoint
    /// Makes the call, through the request of an app or the look of a worker, and says what the app hears.
    let act: () async throws -> String
    /// The record that it is about.
    let record: () async throws -> String

    /// Leads a new user to where the call is made. Nothing for calls that the server does not make.
    init?(_ call: Call, user number: Int, on stage: Stage) async throws {
        let subject = "user-\(number)"
        let app = try await stage.app(of: subject)
        func state(_ table: SQL) -> () async throws -> String {
            {
                let found = try await stage.lines(
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
        let enrollment = state("(SELECT *, false AS in_doubt FROM enrollments) AS row")
        let payment = state("payments")
        func arrive() async throws -> Shopper {
            try await Shopper.arrive(on: stage, as: subject, taxID: Self.cpf(number))
        }

        switch call {
        case .readCustomer: return nil
        case .listInstitutions:
            self.init(.listInstitutions, none) { Self.told(try await app.send(.get, "/v1/institutions")) }
        case .mintWidgetToken:
            self.init(.createWidgetToken, none) { Self.told(try await app.send(.post, "/v1/widget-token")) }
        case .refreshWidgetToken:
            _ = try await app.send(.post, "/v1/widget-token")
            try await stage.advance(by: .seconds(580))
            self.init(.refreshWidgetToken, none) { Self.told(try await app.send(.post, "/v1/widget-token")) }
        case .createCustomer, .findCustomers:
            let body = Shopper.customerBody(taxID: Self.cpf(number))
            self.init(call == .createCustomer ? .createCustomer : .listCustomers, customer) {
                if call == .findCustomers { stage.sandbox.next(.dropAnswer, on: .createCustomer) }
                return Self.told(try await app.send(.put, "/v1/customer", body))
            }
        case .createEnrollment, .listEnrollments:
            let shopper = try await arrive()
            self.init(call == .createEnrollment ? .createEnrollment : .listEnrollments, enrollment) {
                if call == .listEnrollments { stage.sandbox.next(.dropAnswer, on: .createEnrollment) }
                let answer = try await app.send(
                    .post, "/v1/enrollments", shopper.enrollmentBody, headers: ["idempotency-key": "tap"])
                return Self.told(answer)
            }
        case .completeRedirection:
            let shopper = try await arrive()
            let reply = try shopper.decide(try await shopper.startEnrollment())
            self.init(.completeRedirection, enrollment) { Self.told(try await shopper.complete(reply)) }
        case .readRegistrationOptions:
            let shopper = try await arrive()
            let bond = try await shopper.startEnrollment()
            try await shopper.complete(try shopper.decide(bond))
            try stage.sandbox.makeReady(enrollment: bond.belvoID)
            self.init(.getFIDORegistrationOptions, enrollment) {
                try await stage.poll()
                return Self.told(try await app.send(.get, "/v1/enrollments/\(bond.id)/fido-registration-options"))
            }
        case .confirmEnrollment, .readEnrollment:
            var shopper = try await arrive()
            let bond = try await shopper.reachFingerprint()
            let confirmation = try await shopper.confirmation(of: bond)
            let path = "/v1/enrollments/\(bond.id)"
            if call == .confirmEnrollment {
                self.init(.confirmEnrollment, enrollment) {
                    Self.told(try await app.send(.post, path + "/confirm", confirmation))
                }
            } else {
                _ = try await app.send(.post, path + "/confirm", confirmation)
                try stage.sandbox.settle(enrollment: bond.belvoID)
                self.init(.getEnrollment, enrollment) {
                    try await stage.poll()
                    return Self.told(try await app.send(.get, path))
                }
            }
        case .createPaymentIntent, .findPaymentIntents:
            var shopper = try await arrive()
            let bond = try await shopper.enroll()
            let body = shopper.paymentBody(bond)
            self.init(call == .createPaymentIntent ? .createPaymentIntent : .listPaymentIntents, payment) {
                if call == .findPaymentIntents { stage.sandbox.next(.dropAnswer, on: .createPaymentIntent) }
                let answer = try await app.send(
                    .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap"])
                return Self.told(answer)
            }
        case .authorizePaymentIntent, .readPaymentIntent, .readCharge, .readTransaction, .listCharges:
            var shopper = try await arrive()
            let bill = try await shopper.bill(try await shopper.enroll())
            let authorization = try shopper.authorization(of: bill)
            let path = "/v1/payment-intents/\(bill.id)"
            if call == .authorizePaymentIntent {
                self.init(.authorizePaymentIntent, payment) {
                    Self.told(try await app.send(.post, path + "/authorize", authorization))
                }
                return
            }
            _ = try await app.send(.post, path + "/authorize", authorization)
            try stage.sandbox.settle(intent: bill.belvoID)
            switch call {
            case .readPaymentIntent:
                self.init(.getPaymentIntent, payment) {
                    try await stage.poll()
                    return Self.told(try await app.send(.get, path))
                }
            case .listCharges:
                self.init(.listCharges, payment) {
                    do {
                        let day = UTCDay(of: WallClock.now())
                        let found = try await stage.operate { try await $0.reconcile(day) }
                        let own = found.filter { $0.intent?.description.lowercased() == bill.belvoID }
                        return "`merchant reconcile` finds "
                            + (own.isEmpty ? "nothing" : own.map(\.kind.rawValue).joined(separator: ", "))
                    } catch is BelvoError {
                        return "`merchant reconcile` gives up"
                    }
                }
            default:
                let (type, endpoint): (String, Endpoint) =
                    call == .readCharge ? ("CHARGES", .getCharge) : ("TRANSACTIONS", .getTransaction)
                let movement = try #require(stage.sandbox.movement(type, of: bill.belvoID))
                self.init(endpoint, payment) {
                    try await stage.tell(type, of: movement)
                    // The payment's own look is not due yet.
                    try await stage.work()
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

    /// Lets it go wrong, looks at the record for a while, and asks for the same once more.
    func play(_ mishap: Mishap, on stage: Stage) async throws -> FailureRow {
        let before = stage.countCalls(endpoint)
        stage.sandbox.next(mishap.fault, on: endpoint)
        let told = try await act()
        stage.sandbox.clearFaults()
        let first = try await record()
        var later = "stays"
        var passed = Duration.zero
        for span in [3, 16, 80] where later == "stays" && first != "–" {
            try await stage.advance(by: .seconds(span) - passed)
            passed = .seconds(span)
            try await stage.work()
            let now = try await record()
            if now != first { later = "\(now) within \(span) s" }
        }
        let calls = stage.countCalls(endpoint) - before
        // What Belvo asked for by 429, or the gate decided by itself, is over.
        try await stage.advance(by: .seconds(30))
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

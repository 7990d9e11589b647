import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import MerchantAPI

/// A walk along every operation that is for users, each with a request that its user would be granted.
///
/// It is made of `Operation.allCases`: an operation that is added is walked along too. Where its path holds an id it
/// gets one of Ana's records, and where it needs a body that fits, the walk fails until it is given one here.
struct Walk {
    let harness: TestHarness
    /// The user of the records.
    let ana: AppClient
    private let atBank: AppClient.Enrollment
    private let atFingerprint: AppClient.Enrollment
    private let enrolled: AppClient.Enrollment
    private let payment: AppClient.OpenedPayment
    private let bodies: [Operation: String]

    /// No record has this id.
    static let absentID = "00000000-0000-7000-8000-000000000000"

    static let operations = Operation.allCases.filter { $0.access == .user }

    /// Takes Ana as far as every operation needs her.
    init(on harness: TestHarness) async throws {
        self.harness = harness
        var ana = try await AppClient.arrive(on: harness)
        enrolled = try await ana.enroll()
        payment = try await ana.openPayment(enrolled)
        atFingerprint = try await ana.reachFingerprint()
        atBank = try await ana.startEnrollment()
        bodies = [
            .putCustomer: AppClient.customerBody(), .createEnrollment: ana.enrollmentBody,
            .completeRedirection: String(decoding: try ana.decide(atBank).body, as: UTF8.self),
            .confirmEnrollment: try await ana.confirmation(of: atFingerprint),
            .createPaymentIntent: ana.paymentBody(enrolled, reference: "order-2"),
            .authorizePaymentIntent: try ana.authorization(of: payment),
        ]
        self.ana = ana
    }

    /// The id of a record of Ana's that the path is about; nil for a path without one.
    func ownID(for operation: Operation) throws -> String? {
        let path = "\(operation.path)"
        guard path.contains("{") else { return nil }
        let known = ["/v1/enrollments/{id}": atFingerprint.id, "/v1/payment-intents/{id}": payment.id]
        return try #require(
            known.first { path.hasPrefix($0.key) }?.value, "the walk has no record for \(path): give it one")
    }

    /// Sends what Ana would send, with these fields in place of hers.
    func send(_ operation: Operation, id: String? = nil, authorization: [String]) async throws -> Answer {
        let path = "\(operation.path)".replacing("{id}", with: try id ?? ownID(for: operation) ?? "")
        var request = Request(operation.method, Target(path: path))
        for field in authorization { request.headers.append("authorization", field) }
        request.headers.append("idempotency-key", "walk")
        if operation.method != .get {
            request.headers.append("content-type", "application/json")
            request.body = Array((bodies[operation] ?? "{}").utf8)
        }
        return Answer(try await harness.client.send(request, deadline: .seconds(20)))
    }
}

extension TestHarness {
    /// A digest of every row of every table.
    func databaseDigest() async throws -> String {
        let rows = try await database.rows(
            """
            SELECT md5(string_agg(query_to_xml(
                format('SELECT t::text AS row FROM %I.%I t ORDER BY 1', schemaname, tablename), true, false, ''
            )::text, '' ORDER BY tablename)) AS digest
            FROM pg_tables WHERE schemaname = 'public'
            """)
        return try #require(rows.first).decode("digest")
    }
}

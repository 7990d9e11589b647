import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Postgres
import TestSupport
import Testing

@testable import MerchantServer

extension TestHarness {
    /// Has an operator at work beside the server, with these settings or the server's own.
    @discardableResult
    func operate<Value: Sendable>(
        _ settings: Settings? = nil, _ body: (Operators) async throws -> Value
    ) async throws -> Value {
        let operators = try Operators(settings: settings ?? self.settings, log: log.logger)
        let result: Result<Value, any Error>
        do { result = .success(try await body(operators)) } catch { result = .failure(error) }
        await operators.close()
        return try result.get()
    }

    /// Has an operator compare the day that it is now with Belvo.
    func reconcileToday() async throws {
        let today = try #require(try await lines("SELECT app_now()::date::text AS line").first)
        let day = try #require(UTCDay(today))
        try await operate { _ = try await $0.reconcile(day) }
    }

    /// The rows of a view or a table as JSON texts, in the order that the query says.
    func texts(_ query: SQL) async throws -> [String] {
        try await database.rows(
            "SELECT row_to_json(found)::text AS line FROM (\(fragment: query)) AS found"
        ).map { try $0.decode("line") }
    }

    /// The first column's text of every row; the column is named `line`.
    func lines(_ query: SQL) async throws -> [String] {
        try await database.rows(query).map { try $0.decode("line") }
    }

    /// The settings of this stage with changes.
    func settings(with changes: [String: String]) throws -> Settings {
        try Settings.read(environment: environment.merging(changes) { $1 })
    }

    /// Belvo's webhook names an object; `data` is what it says of it, the members of a JSON object.
    func tell(
        _ type: String, of object: String, named name: String? = nil, data: String? = nil,
        code: String = "STATUS_UPDATE"
    ) async throws {
        let said = (name.map { #", "external_id": "\#($0)""# } ?? "") + (data.map { #", "data": {\#($0)}"# } ?? "")
        let belvo = App(client: client, token: "webhook-token-of-the-tests")
        let answer = try await belvo.send(
            .post, "/webhooks/belvo",
            """
            {"webhook_id": "1f", "webhook_type": "\(type)", "webhook_code": "\(code)", "object_id": "\(object)"\(said)}
            """)
        #expect(answer.status == 200)
    }
}

import BelvoSandbox
import HTTP
import Migrations
import Postgres
import TestSupport
import Testing

@testable import Merchant

/// The database goes away and comes back while the server stays.
@Suite struct DatabaseAwayTests {
    @Test(arguments: [TestCluster.StopMode.fast, .immediate])
    func `without its database the server answers 503 at once, and is itself again with it`(
        mode: TestCluster.StopMode
    ) async throws {
        try await TestCluster.with { cluster in
            try await Stage.open(on: cluster) { stage in
                let shopper = try await Shopper.arrive(on: stage)
                let bond = try await shopper.startEnrollment()
                let before = try await shopper.enrollment(bond)
                let calls = stage.sandbox.calls.count
                let reply = try shopper.decide(bond)
                try await cluster.stop(mode)

                for (method, path, body) in [
                    (HTTP.Method.get, "/v1/enrollments/\(bond.id)", nil), (.get, "/v1/enrollments", nil),
                    (.put, "/v1/customer", Shopper.customerBody()), (.post, "/v1/enrollments", shopper.enrollmentBody),
                    (.post, "/v1/enrollments/complete-redirection", String(decoding: reply.body, as: UTF8.self)),
                    (.post, "/v1/payment-intents", shopper.paymentBody(bond)),
                ] {
                    let answer = try await shopper.app.send(method, path, body, headers: ["idempotency-key": "tap"])
                    #expect(answer.status == 503, "\(method) \(path)")
                    #expect(try answer.string("code") == "database_unavailable", "\(method) \(path)")
                    #expect(answer.response.headers["retry-after"] == "2", "\(method) \(path)")
                }
                let page = try await stage.browser().follow(reply)
                #expect(page.status == 503 && page.text.contains("<h1>Just a moment</h1>"))
                // Nothing was asked of Belvo that could not be remembered.
                #expect(stage.sandbox.calls.count == calls)
                let detail = try await App(client: stage.admin, token: nil).send(.get, "/readyz")
                #expect(detail.text == #"{"status":"unavailable","missing":["database"],"warnings":[]}"#)
                #expect(try await App(client: stage.client, token: nil).send(.get, "/livez").status == 200)

                try await cluster.start()
                // What had been answered is still there, byte for byte.
                #expect(try await eventually(on: stage) { try await shopper.enrollment(bond) }.text == before.text)
                #expect(try await eventually(on: stage) { try await shopper.complete(reply) }.status == 200)
                try await shopper.awaitOptions(of: bond)
                #expect(try await shopper.enrollment(bond).string("next_action", "type") == "register")
            }
        }
    }

    /// Without a word of the session's, `off` would lose the row: PostgreSQL writes its log ten seconds later then.
    @Test(arguments: ["off", "local", "on", "remote_apply"])
    func `what was answered is there after an immediate restart, whatever synchronous_commit is`(
        level: String
    ) async throws {
        let settings = "fsync = on\nwal_writer_delay = '10s'\nsynchronous_commit = \(level)"
        try await TestCluster.with(settings: settings) { cluster in
            try await Stage.open(on: cluster) { stage in
                let app = try await stage.app(of: "ana")
                let told = try await app.send(.put, "/v1/customer", Shopper.customerBody())
                #expect(told.status == 201)
                try await cluster.stop(.immediate)
                try await cluster.start()
                let found = try await eventually(on: stage) { try await app.send(.get, "/v1/customer") }
                #expect(found.status == 200)
                #expect(try found.string("id") == told.string("id"))
            }
        }
    }

    /// The first answer that is no 503: the server finds the database again by itself, within its own pauses.
    private func eventually(on stage: Stage, _ ask: () async throws -> Answer) async throws -> Answer {
        var answer = try await ask()
        try await stage.awaitCondition {
            if answer.status == 503 { answer = try await ask() }
            return answer.status != 503
        }
        return answer
    }
}

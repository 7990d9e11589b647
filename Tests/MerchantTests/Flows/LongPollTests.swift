import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantServer
import Postgres
import TestSupport
import Testing
import Transport

/// Apps that wait for a change. Each waits 30 seconds at most, and is given up by its test after 20: an answer means
/// that it was woken.
@Suite(.timeLimit(.minutes(2))) struct LongPollTests {
    @Test func `a worker's change answers who waits for that record, and nobody else`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollments = [try await client.startEnrollment(), try await client.startEnrollment()]
            let seen = [try await client.enrollment(enrollments[0]), try await client.enrollment(enrollments[1])]
            async let first = client.app.wait("/v1/enrollments/\(enrollments[0].id)", unlike: seen[0])
            async let second = client.app.wait("/v1/enrollments/\(enrollments[1].id)", unlike: seen[1])
            try await harness.awaitWatchers(2)
            // Past their time at the bank, the one a second before the other.
            try await harness.database.execute(
                """
                UPDATE enrollments SET deadline_at = app_now(), next_poll_at = app_now()
                WHERE id = \(enrollments[0].uuid)
                """
            )
            try await harness.work()
            #expect(try await first.string("status_reason_code") == "timed_out")
            try await harness.awaitWatchers(1)
            try await harness.database.execute(
                """
                UPDATE enrollments SET deadline_at = app_now(), next_poll_at = app_now()
                WHERE id = \(enrollments[1].uuid)
                """
            )
            try await harness.work()
            #expect(try await second.string("status") == "FAILED")
            try await harness.awaitWatchers(0)
        }
    }

    @Test func `a payment is waited for until it is paid`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            let (app, path) = (client.app, "/v1/payment-intents/\(payment.id)")
            async let signed = app.wait(path, unlike: payment.answer)
            try await harness.awaitWatchers(1)
            try await client.authorize(payment)
            #expect(try await signed.string("next_action", "type") == "poll")
            let accepted = try await client.payment(payment)
            async let paid = app.wait(path, unlike: accepted)
            try await harness.awaitWatchers(1)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await paid.string("status") == "SUCCEEDED")
        }
    }

    @Test func `the bank's redirect in a browser answers the app that waits`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            async let waited = client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen)
            try await harness.awaitWatchers(1)
            _ = try await harness.browser().follow(client.decide(enrollment))
            #expect(try await waited.string("next_action", "type") == "poll")
        }
    }

    @Test func `a customer whose creation was not answered is waited for`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(.dropAnswer, on: .createCustomer)
            harness.sandbox.next(.dropAnswer, on: .listCustomers)
            let seen = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(seen.status == 202)
            async let waited = app.wait("/v1/customer", unlike: seen)
            try await harness.awaitWatchers(1)
            try await harness.pass(.seconds(16))
            #expect(try await waited.raw("next_action") == "null")
        }
    }

    @Test func `a change in another instance answers who waits in this one`() async throws {
        try await TestHarness.open { harness in
            try await harness.withAnotherInstance { other in
                let client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.startEnrollment()
                let seen = try await client.enrollment(enrollment)
                async let waited = client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen)
                try await harness.awaitWatchers(1)
                _ = try await other.browser().follow(client.decide(enrollment))
                #expect(try await waited.status == 200)
                #expect(other.watchers == 0)
            }
        }
    }

    @Test func `watching begins before reading, so that no change comes between`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            try await harness.database.transaction { transaction in
                // The row cannot be read, so a request that watches now does so before it reads.
                try await transaction.standStill()
                try await transaction.execute("LOCK TABLE enrollments IN ACCESS EXCLUSIVE MODE")
                let waiting = harness.loop.task {
                    try await client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen, seconds: 1)
                }
                try await harness.awaitWatchers(1)
                waiting.cancel()
            }
        }
    }

    @Test func `what was missed while the database did not notify is looked for when it does again`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            async let waited = client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen)
            try await harness.awaitWatchers(1)
            try await harness.renameUnheard(enrollment)
            try await harness.database.execute(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'
                """)
            #expect(try await waited.string("details", "name") == "Changed by hand")
        }
    }

    @Test func `a change of which nobody was told is found at the end of the wait`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            async let waited = client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen, seconds: 1)
            try await harness.awaitWatchers(1)
            try await harness.renameUnheard(enrollment)
            #expect(try await waited.string("details", "name") == "Changed by hand")
        }
    }

    @Test func `without a change the answer is 304 when the time is up, and not before`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            let start = Monotonic.now()
            let answer = try await client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen, seconds: 1)
            #expect(Monotonic.now() - start >= .seconds(1))
            #expect(answer.status == 304)
            #expect(answer.tag == seen.tag)
            #expect(answer.text.isEmpty)
            #expect(answer.response.headers["x-request-id"] != nil)
            try await harness.awaitWatchers(0)
        }
    }

    @Test func `who has something else, or nothing, or what is final is answered at once`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)?wait=30"
            #expect(try await client.app.send(.get, path).status == 200)
            #expect(try await client.app.send(.get, path, headers: ["if-none-match": #""x""#]).status == 200)
            #expect(try await client.app.send(.get, path, headers: ["if-none-match": "x"]).status == 200)

            let customer = try await client.app.send(.get, "/v1/customer")
            #expect(try await client.app.wait("/v1/customer", unlike: customer).status == 304)
            let enrolled = try await client.enroll()
            let done = try await client.enrollment(enrolled)
            #expect(try await client.app.wait("/v1/enrollments/\(enrolled.id)", unlike: done).status == 304)
            let options = "/v1/enrollments/\(enrolled.id)/fido-registration-options"
            let given = try await client.app.send(.get, "\(options)?wait=30")
            #expect(given.status == 200)
            #expect(try await client.app.wait(options, unlike: given).status == 304)
        }
    }

    @Test func `a server that drains answers at once, and what then happens is told by another one`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)"
            let seen = try await client.enrollment(enrollment)
            try await harness.withAnotherInstance { other in
                let app = App(client: other.client, token: client.app.token)
                async let waited = app.wait(path, unlike: seen)
                async let options = app.send(.get, "\(path)/fido-registration-options?wait=30")
                try await other.awaitWatchers(2)
                await other.merchant.stop()
                #expect(try await waited.status == 304)
                #expect(try await waited.tag == seen.tag)
                #expect(try await waited.response.headers["connection"] == "close")
                #expect(try await options.status == 202)
            }
            _ = try await harness.browser().follow(client.decide(enrollment))
            #expect(try await client.app.wait(path, unlike: seen).status == 200)
        }
    }

    @Test func `an app that hangs up is no longer watched for`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let tag = try #require(try await client.enrollment(enrollment).tag)
            let connection = try harness.connect()
            try connection.send(
                """
                GET /v1/enrollments/\(enrollment.id)?wait=30 HTTP/1.1\r\nHost: a\r\nIf-None-Match: \(tag)\r
                Authorization: Bearer \(client.app.token ?? "")\r\n\r\n
                """)
            try await harness.awaitWatchers(1)
            connection.hangUp()
            try await harness.awaitWatchers(0)
        }
    }

    @Test func `registration options are waited for until the bank gives them`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)/fido-registration-options"
            async let waited = client.app.send(.get, "\(path)?wait=30")
            try await harness.awaitWatchers(1)
            try await client.complete(client.decide(enrollment))
            try await client.awaitOptions(of: enrollment)
            #expect(try await waited.status == 200)
            #expect(try await waited.text == client.app.send(.get, path).text)
        }
    }

    @Test func `registration options that do not come are 202 in the end, and 409 when none will come`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)/fido-registration-options"
            let late = try await client.app.send(.get, "\(path)?wait=1")
            #expect(late.status == 202)
            #expect(late.response.headers["retry-after"] == "2")
            #expect(try late.string("next_action", "type") == "poll")
            async let waited = client.app.send(.get, "\(path)?wait=30")
            try await harness.awaitWatchers(1)
            try await harness.pass(.seconds(901))
            #expect(try await waited.status == 409)
            #expect(try await waited.string("code") == "enrollment_failed")
            #expect(try await waited.response.headers["x-request-id"] != nil)
        }
    }

    @Test(arguments: ["0", "31", "-1", "1.5", "x", "", "+1", "1&wait=1", "99999999999999999999"])
    func `a wait is 1 to 30 seconds, once`(wait: String) async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            for path in [
                "/v1/customer", "/v1/enrollments/\(enrollment.id)",
                "/v1/enrollments/\(enrollment.id)/fido-registration-options",
                "/v1/payment-intents/\(enrollment.id)",
            ] {
                let answer = try await client.app.send(.get, "\(path)?wait=\(wait)", headers: ["if-none-match": "*"])
                #expect(answer.status == 400, "\(path)?wait=\(wait)")
                #expect(try answer.each("field", in: "errors") == ["?wait"])
            }
            #expect(try await client.app.send(.get, "/v1/enrollments?wait=1").status == 400)
        }
    }

    @Test func `nobody waits for what is not theirs`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let stranger = try await harness.app(of: "bia")
            let nobody = App(client: harness.client, token: nil)
            for path in [
                "/v1/customer", "/v1/enrollments/\(enrollment.id)",
                "/v1/enrollments/\(enrollment.id)/fido-registration-options",
                "/v1/payment-intents/\(enrollment.id)", "/v1/enrollments/nonsense",
            ] {
                let headers: KeyValuePairs<HeaderName, String> = ["if-none-match": "*"]
                #expect(try await stranger.send(.get, "\(path)?wait=30", headers: headers).status == 404, "\(path)")
                #expect(try await nobody.send(.get, "\(path)?wait=30", headers: headers).status == 401, "\(path)")
            }
            try await harness.awaitWatchers(0)
        }
    }
}

extension TestHarness {
    /// Changes what apps see of an enrollment without a notification.
    fileprivate func renameUnheard(_ enrollment: AppClient.Enrollment) async throws {
        try await database.execute(
            "UPDATE enrollments SET name = 'Changed by hand', version = version + 1 WHERE id = \(enrollment.uuid)")
    }
}

extension AppClient.Enrollment {
    fileprivate var uuid: UUID? { UUID(uuidString: id) }
}

import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

@testable import BelvoGate
@testable import MerchantAPI
@testable import MerchantServer

/// The figures of `/metrics`, on the harness.
@Suite(.timeLimit(.minutes(2))) struct MetricsPageTests {
    @Test func `requests are counted by operation and class of status, and their times fit the counts`() async throws {
        try await TestHarness.open(environment: ["CORS_ORIGINS": "https://shop.example"]) { harness in
            let begin = Monotonic.now()
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            for _ in 0..<3 { _ = try await client.enrollment(enrollment) }
            let tag = try #require(try await client.enrollment(enrollment).tag)
            try await client.app.send(
                .get, "/v1/enrollments/\(enrollment.id)", headers: ["if-none-match": tag])
            try await App(client: harness.client, token: nil).send(.get, "/v1/customer")
            try await client.app.send(.get, "/v1/nothing")
            try await client.app.send(.delete, "/v1/customer")
            try await client.app.send(
                .options, "/v1/customer",
                headers: ["origin": "https://shop.example", "access-control-request-method": "PUT"])
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .createWidgetToken)
            try await client.app.send(.post, "/v1/widget-token")
            let stranger = try harness.connect()
            try stranger.send("no request\r\n\r\n")
            try await harness.awaitCondition {
                try await harness.metrics().requests("unreadable", "4xx") == 1
            }

            let page = try await harness.metrics()
            let spent = Monotonic.now() - begin
            var told: [String: Double] = [:]
            for sample in try #require(page["merchant_requests_total"]).samples where sample.value > 0 {
                told["\(sample.labels["operation"] ?? "") \(sample.labels["status"] ?? "")"] = sample.value
            }
            #expect(
                told == [
                    "putCustomer 2xx": 1, "createEnrollment 2xx": 1, "getEnrollment 2xx": 4, "getEnrollment 3xx": 1,
                    "getCustomer 4xx": 1, "unmatched 4xx": 2, "preflight 2xx": 1, "mintWidgetToken 5xx": 1,
                    "unreadable 4xx": 1,
                ])
            var sum = 0.0
            for route in RequestCounts.Route.allCases where route != .unreadable {
                let labels = ["operation": route.name]
                let count = RequestCounts.statusClasses.compactMap { page.requests(route.name, $0) }.reduce(0, +)
                #expect(page.value("merchant_request_seconds_count", labels) == count, "\(route.name)")
                let seconds = try #require(page.value("merchant_request_seconds_sum", labels))
                #expect((seconds > 0) == (count > 0), "\(route.name)")
                sum += seconds
            }
            // One after the other, so that together they took no longer than all of it.
            #expect(sum < Double(spent.wholeNanoseconds) / 1e9)
        }
    }

    @Test func `a long poll is shown while it waits and counted when it is answered, and its wait is no latency`()
        async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let seen = try await client.enrollment(enrollment)
            async let answer = client.app.wait("/v1/enrollments/\(enrollment.id)", unlike: seen, seconds: 1)
            try await harness.awaitWatchers(1)
            var page = try await harness.metrics()
            #expect(page.value("merchant_waiting_requests") == 1)
            #expect(page.requests("getEnrollment", "3xx") == 0)
            #expect(try await answer.status == 304)
            page = try await harness.metrics()
            #expect(page.value("merchant_waiting_requests") == 0)
            #expect(page.requests("getEnrollment", "3xx") == 1)
            // It waited for a second.
            let seconds = try #require(page.value("merchant_request_seconds_sum", ["operation": "getEnrollment"]))
            #expect(seconds > 0 && seconds < 1)
        }
    }

    @Test func `a journey is counted step by step, and a failure by its code and what may be done next`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let paid = try await client.openPayment(enrollment)
            try await client.authorize(paid)
            try harness.sandbox.settle(intent: paid.belvoID)
            try await harness.poll()
            let failed = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(failed)
            try harness.sandbox.fail(intent: failed.belvoID)
            try await harness.poll()
            let page = try await harness.metrics()
            func entries(_ record: String) -> [String: Double] {
                var counted: [String: Double] = [:]
                for sample in page["merchant_state_entries_total"]?.samples ?? []
                where sample.value > 0 && sample.labels["record"] == record {
                    counted[sample.labels["state"] ?? ""] = sample.value
                }
                return counted
            }
            #expect(
                entries("enrollments") == [
                    "creating": 1, "at_bank": 1, "completing": 1, "awaiting_options": 1, "awaiting_fingerprint": 1,
                    "confirming": 1, "succeeded": 1,
                ])
            #expect(
                entries("payments") == [
                    "creating": 2, "awaiting_signature": 2, "authorizing": 2, "succeeded": 1, "failed": 1,
                ])
            let failures = page["merchant_failures_total"]?.samples.filter { $0.value > 0 }
            #expect(
                failures?.map(\.labels) == [
                    ["record": "payments", "code": "insufficient_funds", "reason": "insufficient_funds"]
                ])
            #expect(failures?.map(\.value) == [1])
        }
    }

    @Test func `records that are not at their end are shown with their age, lateness and doubt`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.pass(.seconds(100))
            var page = try await harness.metrics()
            #expect(page.value("merchant_database_up") == 1)
            let kinds = page["merchant_records_pending"]?.samples.compactMap { $0.labels["record"] }
            #expect(
                kinds?.sorted() == ["customers", "enrollments", "events", "payments", "redirects", "webhooks"])
            #expect(page.value("merchant_records_pending", ["record": "payments"]) == 1)
            #expect(page.value("merchant_records_pending", ["record": "enrollments"]) == 0)
            #expect(page.value("merchant_records_oldest_pending_seconds", ["record": "enrollments"]) == 0)
            #expect(page.value("merchant_payments_in_doubt") == 0)
            #expect(page.value("merchant_events_parked") == 0)
            #expect(page.value("merchant_payments_oldest_in_doubt_seconds") == 0)
            #expect(page.value("merchant_records_overdue_seconds", ["record": "payments"]) == 0)

            try await harness.pass(.seconds(20))
            // A webhook comes, and then no worker runs for an hour.
            let told = """
                {"webhook_id": "1f", "webhook_type": "PAYMENT_INTENTS", "webhook_code": "STATUS_UPDATE",
                "object_id": "\(payment.belvoID)", "data": {"status": "SUCCEEDED"}}
                """
            try await App(client: harness.client, token: "webhook-token-of-the-tests").send(
                .post, "/webhooks/belvo", told)
            try await harness.advance(by: .seconds(3_600))
            // What changes in the row meanwhile is no end of the doubt.
            try await harness.database.execute("UPDATE payments SET updated_at = app_now() WHERE in_doubt")
            page = try await harness.metrics()
            #expect(page.value("merchant_payments_in_doubt") == 1)
            let doubt = try #require(page.value("merchant_payments_oldest_in_doubt_seconds"))
            #expect((3_600..<3_720).contains(doubt))
            let age = try #require(page.value("merchant_records_oldest_pending_seconds", ["record": "payments"]))
            #expect((3_720..<4_000).contains(age))
            for record in ["payments", "webhooks"] {
                #expect(page.value("merchant_records_pending", ["record": record]) == 1)
                let late = try #require(page.value("merchant_records_overdue_seconds", ["record": record]))
                #expect((3_000...3_720).contains(late), "\(record)")
            }

            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.work()
            page = try await harness.metrics()
            #expect(page.value("merchant_payments_in_doubt") == 0)
            #expect(page.value("merchant_records_pending", ["record": "payments"]) == 0)
            #expect(page.value("merchant_records_pending", ["record": "webhooks"]) == 0)
        }
    }

    @Test func `calls to Belvo are counted by how they ended, and an open circuit is only a warning`() async throws {
        try await TestHarness.open { harness in
            _ = try await AppClient.arrive(on: harness)
            var page = try await harness.metrics()
            #expect(page.calls("createCustomer", "answered") == 1)
            #expect(page.value("merchant_belvo_circuit", ["state": "closed"]) == 1)
            harness.sandbox.next(.refused(503, code: "unavailable"), on: nil, count: nil)
            for number in 0..<CircuitBreaker.callsMin + 5 {
                try await harness.app(of: "user-\(number)").send(.post, "/v1/widget-token")
            }
            page = try await harness.metrics()
            let failed = try #require(page.calls("mintWidgetToken", "failed"))
            let heldBack = try #require(page.calls("mintWidgetToken", "held_back"))
            #expect(failed == Double(harness.countCalls(.createWidgetToken)) && failed > 0)
            #expect(heldBack > 0 && failed + heldBack == Double(CircuitBreaker.callsMin + 5))
            #expect(page.calls("mintWidgetToken", "answered") == 0)
            // What never left took no time.
            #expect(page.value("merchant_belvo_call_seconds_count", ["call": "mintWidgetToken"]) == failed)
            #expect(page.value("merchant_belvo_call_seconds_count", ["call": "createCustomer"]) == 1)
            #expect(page.value("merchant_belvo_call_seconds_count", ["call": "readCharge"]) == 0)
            let seconds = try #require(page.value("merchant_belvo_call_seconds_sum", ["call": "createCustomer"]))
            #expect(seconds > 0 && seconds < 60)
            #expect(page.value("merchant_belvo_circuit", ["state": "closed"]) == 0)
            #expect(page.value("merchant_belvo_circuit", ["state": "open"]) == 1)
            #expect(page.value("merchant_belvo_circuit_openings_total") == 1)
            for caller in ["person", "background"] {
                #expect(page.value("merchant_belvo_calls_under_way", ["caller": caller]) == 0)
                #expect(page.value("merchant_belvo_calls_in_line", ["caller": caller]) == 0)
            }
            let operators = App(client: harness.admin, token: nil)
            let ready = try await operators.send(.get, "/readyz")
            #expect(ready.status == 200)
            #expect(ready.text == #"{"status":"ok","missing":[],"warnings":["belvo_circuit_open"]}"#)
        }
    }

    @Test func `events that were given up are shown until somebody has them tried again`() async throws {
        let nobody = [
            "SHOP_WEBHOOK_URL": "http://127.0.0.1:9/events",
            "SHOP_WEBHOOK_SECRET": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        ]
        try await TestHarness.open(environment: nobody) { harness in
            var client = try await AppClient.arrive(on: harness)
            _ = try await client.enroll()
            #expect(try await harness.metrics().value("merchant_events_parked") == 0)
            try await harness.pass(.seconds(3 * 86_400 + 1))
            let page = try await harness.metrics()
            #expect(page.value("merchant_events_parked") == 1)
            #expect(page.value("merchant_records_pending", ["record": "events"]) == 0)
            let plan = try await harness.lines(
                """
                SELECT indexname::text AS line FROM pg_indexes
                WHERE tablename = 'events' AND indexdef LIKE '%WHERE (parked_at IS NOT NULL)'
                """)
            #expect(plan == ["events_parked"])
            try await harness.database.execute("UPDATE events SET parked_at = NULL, next_attempt_at = app_now()")
            #expect(try await harness.metrics().value("merchant_events_parked") == 0)
        }
    }

    @Test func `a lock-out and a silence of Belvo's are shown, and operators are warned of them`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            // Belvo's denials of one user's calls count once, whatever their number.
            let others = [
                try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35"),
                try await AppClient.arrive(on: harness, as: "caio", taxID: "123.456.789-09"),
            ]
            let operators = App(client: harness.admin, token: nil)
            harness.sandbox.next(.refused(401, code: "authentication_failed"), on: nil, count: nil)
            for user in [client] + others { try await user.app.send(.post, "/v1/widget-token") }
            var page = try await harness.metrics()
            #expect(page.value("merchant_belvo_denials_total") == 3)
            #expect(page.value("merchant_belvo_locked_out") == 1)
            #expect(page.value("merchant_belvo_silence_seconds") == 0)
            #expect(
                try await operators.send(.get, "/readyz").text
                    == #"{"status":"ok","missing":[],"warnings":["belvo_locked_out"]}"#)

            harness.sandbox.clearFaults()
            harness.clock.advance(by: .seconds(31))
            harness.sandbox.next(.tooManyRequests(retryAfter: 30), on: .createEnrollment, count: 2)
            for user in others { try await user.app.send(.post, "/v1/enrollments", user.enrollmentBody) }
            page = try await harness.metrics()
            let silence = try #require(page.value("merchant_belvo_silence_seconds"))
            #expect((4...7).contains(silence))
            #expect(page.calls("createEnrollment", "throttled") == 2)
            #expect(try await operators.send(.get, "/readyz").text.contains("belvo_asked_for_silence"))
        }
    }

    @Test func `without its database the server still shows what it knows by itself`() async throws {
        try await TestCluster.with { cluster in
            try await TestHarness.open(on: cluster) { harness in
                _ = try await AppClient.arrive(on: harness)
                #expect(try await harness.metrics().value("merchant_database_up") == 1)
                try await cluster.stop(.fast)
                let page = try await harness.metrics()
                #expect(page.value("merchant_database_up") == 0)
                #expect(page.requests("putCustomer", "2xx") == 1)
                #expect(page.calls("createCustomer", "answered") == 1)
                for metric in [Metric.recordsPending, .recordsOldest, .recordsOverdue, .paymentsInDoubt] {
                    #expect(page[metric.name] == nil, "\(metric)")
                }
                #expect(harness.log.holds("metrics.workload_unread"))
                try await cluster.start()
                try await harness.awaitCondition { try await harness.metrics().value("merchant_database_up") == 1 }
            }
        }
    }

    @Test func `every documented metric is shown with its labels, and every loop with its connections`() async throws {
        try await TestHarness.open { harness in
            _ = try await AppClient.arrive(on: harness)
            let pool = ["loop": "0", "lane": "write"]
            try await harness.awaitCondition {
                try await harness.metrics().value("merchant_database_connections", pool) ?? 0 >= 1
            }
            let page = try await harness.metrics()
            #expect(page.families.map(\.name) == Metric.allCases.map(\.name).filter { page[$0] != nil })
            for metric in Metric.allCases {
                let family = try #require(page[metric.name], "\(metric.name) is missing")
                #expect(family.kind == metric.kind.rawValue)
                for sample in family.samples {
                    #expect(Set(sample.labels.keys).subtracting(["le"]) == Set(metric.labels), "\(sample.name)")
                }
            }
            #expect(page.value("merchant_database_callers_waiting", pool) == 0)
            #expect(try #require(page.value("merchant_loop_delay_seconds", ["loop": "0"])) < 60)
            #expect(try #require(page.value("process_resident_memory_bytes")) > 1_000_000)
        }
    }

    @Test func `no id, no user and no secret stands in it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.app.send(.get, "/v1/payment-intents/\(payment.id)?secret=words")
            try await client.authorize(payment)
            let text = try await App(client: harness.admin, token: nil).send(.get, "/metrics").text
            let secrets = [
                "ana", "Souza", "52998224725", enrollment.id, enrollment.belvoID, payment.id, payment.belvoID, "secret",
                "order-1",
                try #require(client.app.token), harness.sandbox.configuration.secretPassword,
            ]
            for secret in secrets { #expect(!text.contains(secret), "the page holds \(secret)") }
            #expect(text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}/) == nil)
        }
    }

    @Test func `it is text of its format, for operators alone`() async throws {
        try await TestHarness.open { harness in
            let operators = App(client: harness.admin, token: nil)
            let answer = try await operators.send(.get, "/metrics")
            #expect(answer.status == 200)
            #expect(answer.response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer.response.headers["cache-control"] == "no-store")
            #expect(try await operators.send(.head, "/metrics").text.isEmpty)
            let post = try await operators.send(.post, "/metrics")
            #expect(post.status == 405)
            #expect(post.response.headers["allow"] == "GET, HEAD")
            let app = try await harness.app(of: "ana")
            #expect(try await app.send(.get, "/metrics").status == 404)
        }
    }

    @Test func `each answer has its line in the log, without the query`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            try await app.send(.get, "/v1/enrollments?device_id=secret-device", headers: ["x-request-id": "r-1"])
            try await app.send(.get, "/v1/nothing?a=secret", headers: ["x-request-id": "r-2"])
            let lines = harness.log.all.filter { $0.hasPrefix("request.answered") }.map {
                $0.replacing(/milliseconds=\d+/, with: "milliseconds=N").replacing(/\ trace_id=[0-9a-f]{32}$/, with: "")
            }
            #expect(
                lines == [
                    "request.answered client=127.0.0.1 milliseconds=N operation=listEnrollments request_id=r-1 "
                        + "status=200",
                    "request.answered client=127.0.0.1 milliseconds=N operation=unmatched request_id=r-2 status=404",
                ])
        }
    }
}

extension TestHarness {
    /// The page as a collector gets it, read by the format's rules.
    func metrics() async throws -> Exposition {
        let answer = try await App(client: admin, token: nil).send(.get, "/metrics")
        #expect(answer.status == 200)
        return try Exposition(parsing: answer.text)
    }
}

extension Exposition {
    fileprivate func requests(_ operation: String, _ status: String) -> Double? {
        value("merchant_requests_total", ["operation": operation, "status": status])
    }

    fileprivate func calls(_ call: String, _ outcome: String) -> Double? {
        value("merchant_belvo_calls_total", ["call": call, "outcome": outcome])
    }
}

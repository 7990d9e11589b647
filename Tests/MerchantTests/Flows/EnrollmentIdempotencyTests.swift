import BelvoSandbox
import HTTP
import SoftwareAuthenticator
import Testing

/// Enrollments keep the promise that payments keep: the same key and the same body are the same answer, and one effect.
@Suite struct EnrollmentIdempotencyTests {
    @Test func `a repeated key answers byte for byte, however the body is spelled`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let first = try await client.keyed(client.enrollmentBody)
            #expect(first.status == 201)
            #expect(first.response.headers["idempotent-replayed"] == nil)
            // The enrollment goes on meanwhile; the answer stays what it was. And Belvo need not be there.
            let enrollment = AppClient.Enrollment(id: try first.string("id"), belvoID: try first.string("belvo_id"))
            try await client.complete(client.decide(enrollment))
            harness.sandbox.next(.dropRequest, on: nil, count: nil)
            let spellings = [
                client.enrollmentBody,
                """
                { "name":"Ana\\u0027s phone", "risk_signals" : \(client.signals) ,"platform":"IOS",
                  "institution": "\(AppClient.bank.uppercased())", "metadata": null }
                """,
                // What is left out is what it defaults to.
                client.enrollmentBody.dropLast() + #", "callback_url": "https://shop.example/enrollments/callback"}"#,
            ]
            for body in spellings {
                let again = try await client.keyed(body)
                #expect(again.status == 201, "\(body)")
                #expect(again.response.body == first.response.body, "\(body)")
                #expect(again.response.headers["idempotent-replayed"] == "true")
            }
            #expect(harness.countCalls(.createEnrollment) == 1)
        }
    }

    @Test func `another body under a used key is refused, also when only the phone's signals differ`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            #expect(try await client.keyed(client.enrollmentBody).status == 201)
            for (old, new) in [
                (#""name": "Ana's phone""#, #""name": "Ana's tablet""#),
                (#""platform": "IOS""#, #""platform": "ANDROID""#),
                (#""screenBrightness":64"#, #""screenBrightness":65"#), (client.deviceID, "another-device"),
                (#""isCharging":true"#, #""isCharging":false"#),
            ] {
                let body = client.enrollmentBody.replacing(old, with: new)
                #expect(body != client.enrollmentBody)
                let other = try await client.keyed(body)
                #expect(other.status == 422, "\(new)")
                #expect(try other.string("code") == "idempotency_key_reused", "\(new)")
            }
            #expect(harness.countCalls(.createEnrollment) == 1)
        }
    }

    @Test func `without a key each request is an enrollment of its own, and a malformed one is refused`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            #expect(try await client.startEnrollment().id != client.startEnrollment().id)
            for key in ["", "with space", String(repeating: "k", count: 256)] {
                let answer = try await client.keyed(client.enrollmentBody, key: key)
                #expect(answer.status == 400, "\(key)")
                #expect(try answer.string("code") == "idempotency_key_malformed", "\(key)")
            }
            #expect(harness.countCalls(.createEnrollment) == 2)
        }
    }

    @Test func `a refusal of Belvo's is replayed as well`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            harness.sandbox.next(.refused(400, code: "invalid"), on: .createEnrollment)
            let first = try await client.keyed(client.enrollmentBody)
            #expect(first.status == 422)
            let again = try await client.keyed(client.enrollmentBody)
            #expect(again.status == 422)
            #expect(again.response.body == first.response.body)
            #expect(again.response.headers["idempotent-replayed"] == "true")
            #expect(again.response.headers["content-type"] == "application/problem+json")
            #expect(harness.countCalls(.createEnrollment) == 1)
        }
    }

    @Test func `what had faults, was not allowed or was turned away releases its key`() async throws {
        try await TestHarness.open { harness in
            let newcomer = try await harness.app(of: "bia")
            let client = try await AppClient.arrive(on: harness)
            let early = try await newcomer.send(
                .post, "/v1/enrollments", client.enrollmentBody, headers: ["idempotency-key": "tap-1"])
            #expect(try early.string("code") == "customer_required")
            let elsewhere = client.enrollmentBody.replacing(
                AppClient.bank, with: "00000000-0000-4000-8000-000000000000")
            for (body, status) in [("{}", 400), ("not json", 400), (elsewhere, 422)] {
                #expect(try await client.keyed(body).status == status, "\(body)")
            }
            for trouble in Trouble.turnedAway {
                harness.sandbox.next(trouble.fault, on: .createEnrollment)
                try trouble.expectTold(on: harness, try await client.keyed(client.enrollmentBody))
            }
            let made = try await client.keyed(client.enrollmentBody)
            #expect(made.status == 201)
            #expect(made.response.headers["idempotent-replayed"] == nil)
        }
    }

    @Test func `what nobody knows is answered from the present state`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for isThere in [true, false] {
                let key = "tap-\(isThere)"
                harness.sandbox.variants.listLagMilliseconds = 3_000
                harness.sandbox.next(isThere ? .dropAnswer : .dropRequest, on: .createEnrollment, count: 3)
                let first = try await client.keyed(client.enrollmentBody, key: key)
                #expect(first.status == 202)
                let second = try await client.keyed(client.enrollmentBody, key: key)
                #expect(second.status == 202)
                #expect(second.text == first.text)
                harness.sandbox.advance(by: .seconds(3))
                try await harness.pass(isThere ? .seconds(3) : .seconds(61))
                let third = try await client.keyed(client.enrollmentBody, key: key)
                #expect(third.status == 201)
                #expect(try third.string("id") == first.string("id"))
                #expect(try third.string("next_action", "type") == (isThere ? "redirect" : "retry"))
            }
            #expect(harness.countCalls(.createEnrollment) == 6)
        }
    }

    @Test func `twenty requests at once with one key are one enrollment`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let answers = try await withThrowingTaskGroup(returning: [Answer].self) { group in
                for _ in 0..<20 { group.addTask { try await client.keyed(client.enrollmentBody) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let made = answers.filter { $0.status == 201 }
            #expect(Set(made.map(\.text)).count == 1)
            for answer in answers where answer.status != 201 {
                #expect(answer.status == 409)
                #expect(try answer.string("code") == "in_progress")
                #expect(answer.response.headers["retry-after"] == "1")
            }
            #expect(harness.countCalls(.createEnrollment) == 1)
        }
    }

    @Test func `a key belongs to its user and its route, and lives for 72 hours`() async throws {
        try await TestHarness.open { harness in
            var ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let first = try await ana.keyed(ana.enrollmentBody)
            #expect(try await bia.keyed(bia.enrollmentBody).string("id") != first.string("id"))
            #expect(try await ana.requestPayment(ana.enroll()).status == 201)
            try await harness.advance(by: .seconds(72 * 3_600 - 60))
            #expect(try await ana.keyed(ana.enrollmentBody).text == first.text)
            try await harness.advance(by: .seconds(60))
            #expect(try await ana.keyed(ana.enrollmentBody).string("id") != first.string("id"))
        }
    }
}

extension AppClient {
    /// Starts an enrollment under a key.
    func keyed(_ body: some StringProtocol, key: String = "tap-1") async throws -> Answer {
        try await app.send(.post, "/v1/enrollments", String(body), headers: ["idempotency-key": key])
    }
}

import BelvoSandbox
import HTTP
import Testing

/// The answers about a resource that an app has already.
@Suite struct EntityTagFlowTests {
    @Test func `every single resource has a tag, the same wherever it looks the same`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let app = client.app
            let put = try await app.send(.put, "/v1/customer", AppClient.customerBody())
            #expect(put.tag != nil)
            #expect(try await app.send(.get, "/v1/customer").tag == put.tag)

            let enrollment = try await client.reachFingerprint()
            let waiting = try await client.enrollment(enrollment)
            #expect(waiting.tag != nil)
            #expect(try await client.enrollment(enrollment).tag == waiting.tag)
            let options = try await app.send(.get, "/v1/enrollments/\(enrollment.id)/fido-registration-options")
            #expect(options.tag != nil && options.tag != waiting.tag)
            try await client.confirm(enrollment)
            #expect(try await client.enrollment(enrollment).tag != waiting.tag)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()

            let payment = try await client.openPayment(enrollment)
            #expect(payment.answer.tag != nil)
            #expect(try await client.payment(payment).tag == payment.answer.tag)
            let replay = try await client.requestPayment(enrollment)
            #expect(replay.response.headers["idempotent-replayed"] == "true")
            #expect(replay.tag == payment.answer.tag)
            #expect(try await app.send(.head, "/v1/payment-intents/\(payment.id)").tag == payment.answer.tag)
            let canceled = try await client.cancel(payment)
            #expect(canceled.tag != nil)
            #expect(try await client.payment(payment).tag == canceled.tag)
        }
    }

    @Test func `a resource that the app has is not sent again`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)"
            let tag = try #require(try await client.enrollment(enrollment).tag)
            for field in [tag, "W/\(tag)", #""x", \#(tag)"#, "*"] {
                let answer = try await client.app.send(.get, path, headers: ["if-none-match": field])
                #expect(answer.status == 304, "\(field)")
                #expect(answer.text.isEmpty)
                #expect(answer.tag == tag)
                #expect(answer.response.headers["cache-control"] == "no-store")
                #expect(answer.response.headers["x-request-id"] != nil)
                #expect(answer.response.headers["content-type"] == nil)
            }
            for field in [#""x""#, #"""#, String(tag.dropFirst()), ""] {
                let answer = try await client.app.send(.get, path, headers: ["if-none-match": field])
                #expect(answer.status == 200, "\(field)")
            }
        }
    }

    @Test func `what is no single resource has no tag`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            for path in [
                "/v1/enrollments", "/v1/enrollments/\(enrollment.id)/fido-registration-options", "/v1/nowhere",
            ] {
                #expect(try await client.app.send(.get, path, headers: ["if-none-match": "*"]).tag == nil, "\(path)")
            }
        }
    }
}

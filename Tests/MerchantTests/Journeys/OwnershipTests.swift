import BelvoSandbox
import HTTP
import Payments
import Testing

@testable import Merchant

/// What belongs to one user does not exist for any other, and nothing is there for somebody without a token.
@Suite struct OwnershipTests {
    @Test func `another user's ids answer as ids that do not exist`() async throws {
        try await Stage.open { stage in
            var ana = try await Shopper.arrive(on: stage)
            var bia = try await Shopper.arrive(on: stage, as: "bia", taxID: "111.444.777-35")
            let (hers, others) = (try await ana.enroll(), try await bia.enroll())
            let bill = try await ana.bill(hers)
            let fingerprint = try await ana.reachFingerprint()
            let calls = stage.sandbox.calls.count

            let requests: [(HTTP.Method, String, String?)] = [
                (.get, "/v1/enrollments/{}", nil), (.get, "/v1/enrollments/{}/fido-registration-options", nil),
                (.post, "/v1/enrollments/{}/confirm", try await ana.confirmation(of: fingerprint)),
                (.get, "/v1/payment-intents/{}", nil),
                (.post, "/v1/payment-intents/{}/authorize", try ana.authorization(of: bill)),
            ]
            for (method, path, body) in requests {
                let own = path.contains("payment") ? bill.id : path.contains("confirm") ? fingerprint.id : hers.id
                let foreign = try await bia.app.send(method, path.replacing("{}", with: own), body)
                let absent = try await bia.app.send(
                    method, path.replacing("{}", with: "00000000-0000-7000-8000-000000000000"), body)
                let nonsense = try await bia.app.send(method, path.replacing("{}", with: "x"), body)
                for answer in [foreign, absent, nonsense] {
                    #expect(answer.status == 404, "\(method) \(path)")
                    #expect(try answer.string("detail") == "There is no such resource.", "\(method) \(path)")
                }
            }
            // In a body, the same.
            let payment = try await bia.openPayment(hers, key: "tap-2")
            #expect(payment.status == 400)
            #expect(
                try payment.raw("errors")
                    == #"[{"field":"/enrollment","code":"not_found","message":"There is no such enrollment."}]"#)
            // In a filter, nothing.
            let lists = ["enrollments?belvo_id=\(hers.belvoID)", "enrollments?device_id=\(ana.deviceID)"]
            for list in lists + ["payment-intents?reference=order-1"] {
                let found = try await bia.app.send(.get, "/v1/\(list)")
                #expect(found.text == #"{"results":[],"next":null}"#, "\(list)")
            }
            #expect(stage.sandbox.calls.count == calls)
            #expect(try await ana.payment(bill).string("next_action", "type") == "sign")
            #expect(try await bia.enrollment(others).status == 200)
        }
    }

    @Test func `a cursor of another user's list shows only one's own`() async throws {
        try await Stage.open { stage in
            let ana = try await Shopper.arrive(on: stage)
            let bia = try await Shopper.arrive(on: stage, as: "bia", taxID: "111.444.777-35")
            let own = try await bia.startEnrollment()
            for _ in 0..<2 { _ = try await ana.startEnrollment() }
            let page = try await ana.app.send(.get, "/v1/enrollments?limit=1")
            let next = try page.string("next")
            let list = try await bia.app.send(.get, "/v1/enrollments?cursor=\(next)")
            #expect(try list.each("id", in: "results") == [own.id])
        }
    }

    @Test(arguments: Operation.allCases.filter { $0.access == .user })
    func `nothing below v1 answers without a good token`(operation: Operation) async throws {
        try await Stage.open { stage in
            let path = "\(operation.path)".replacing("{id}", with: "00000000-0000-7000-8000-000000000000")
            let body: String? = operation.method == .get ? nil : "{}"
            let good = try #require(try await stage.app(of: "ana").token)
            let parts = good.split(separator: ".")
            let expired = try await DemoTokens.issue(
                subject: UserSubject("ana"), secret: #require(SharedSecret(Stage.secret)), lifetime: .seconds(60),
                now: WallClock.now() + .seconds(-3_600))
            let foreign = try await DemoTokens.issue(
                subject: UserSubject("ana"), secret: #require(SharedSecret("another-secret-that-is-long-enough-too")),
                lifetime: .seconds(60), now: WallClock.now())
            let unsigned = "eyJhbGciOiJub25lIn0.\(parts[1])."
            for token in [nil, "", "x", String(good.dropLast(4)), good + "AAAA", unsigned, expired, foreign] {
                let app = App(client: stage.client, token: token)
                let answer = try await app.send(operation.method, path, body, headers: ["idempotency-key": "tap"])
                #expect(answer.status == 401, "\(token?.prefix(20) ?? "none")")
                #expect(try answer.string("code") == "unauthorized")
                #expect(answer.response.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
            }
            let twice = try await App(client: stage.client, token: good).send(
                operation.method, path, body, headers: ["authorization": "Bearer \(good)"])
            #expect(twice.status == 401)
            let basic = try await App(client: stage.client, token: nil).send(
                operation.method, path, body, headers: ["authorization": "Basic \(good)"])
            #expect(basic.status == 401)
            #expect(stage.sandbox.calls.isEmpty)
        }
    }
}

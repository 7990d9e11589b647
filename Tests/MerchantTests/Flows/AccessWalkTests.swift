import BelvoSandbox
import HTTP
import Payments
import Testing

@testable import MerchantServer

/// Nothing is there for a client without a token, and what belongs to one user does not exist for any other: along
/// every operation that there is.
@Suite struct AccessWalkTests {
    /// The kinds of keys with which a server checks tokens.
    enum TokenKind: CaseIterable {
        case secret, keySet
    }

    @Test(arguments: TokenKind.allCases)
    func `no operation answers anybody without a good token, and nothing happens`(kind: TokenKind) async throws {
        let file = try TemporaryFile(Keys.document())
        var environment = ["AUTH_ISSUER": "https://login.shop.example", "AUTH_AUDIENCE": "merchant"]
        if kind == .keySet { environment["AUTH_JWKS_FILE"] = file.path }
        try await TestHarness.open(environment: environment) { harness in
            let walk = try await Walk(on: harness)
            let (calls, digest) = (harness.sandbox.calls.count, try await harness.databaseDigest())
            for stranger in try Stranger.all(knowing: Credentials(of: harness.settings.auth)) {
                for operation in Walk.operations {
                    let answer = try await walk.send(operation, authorization: stranger.fields)
                    try answer.expectUnauthorized("\(stranger.name): \(operation)", isToldWhy: stranger.isToldWhy)
                }
            }
            #expect(harness.sandbox.calls.count == calls)
            #expect(try await harness.databaseDigest() == digest)
            // The same requests with a good token are another matter.
            let token = try #require(walk.ana.app.token)
            for operation in Walk.operations {
                let answer = try await walk.send(operation, authorization: ["Bearer \(token)"])
                #expect((200...299).contains(answer.status) || answer.status == 409, "\(operation): \(answer.text)")
            }
            #expect(try await harness.databaseDigest() != digest)
        }
    }

    @Test func `another user's ids in a path answer as ids that do not exist`() async throws {
        try await TestHarness.open { harness in
            let walk = try await Walk(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let (hers, others) = (try #require(walk.ana.app.token), try #require(bia.app.token))
            let (calls, digest) = (harness.sandbox.calls.count, try await harness.databaseDigest())
            var count = 0
            for operation in Walk.operations {
                guard let id = try walk.ownID(for: operation) else { continue }
                count += 1
                for wrong in [id, id.uppercased(), Walk.absentID, "x"] {
                    let answer = try await walk.send(operation, id: wrong, authorization: ["Bearer \(others)"])
                    let absent = try await walk.send(operation, id: Walk.absentID, authorization: ["Bearer \(hers)"])
                    #expect(answer.status == 404, "\(operation) \(wrong): \(answer.text)")
                    #expect(answer.withoutRequestID == absent.withoutRequestID, "\(operation) \(wrong)")
                }
            }
            #expect(count >= 5)
            #expect(harness.sandbox.calls.count == calls)
            #expect(try await harness.databaseDigest() == digest)
            for operation in Walk.operations where try walk.ownID(for: operation) != nil {
                let own = try await walk.send(operation, authorization: ["Bearer \(hers)"])
                #expect((200...299).contains(own.status) || own.status == 409, "\(operation): \(own.text)")
            }
        }
    }

    @Test func `another user's ids in a body or a filter answer as ids that do not exist`() async throws {
        try await TestHarness.open { harness in
            var ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let hers = try await ana.enroll()
            let payment = try await ana.openPayment(hers)
            let (calls, digest) = (harness.sandbox.calls.count, try await harness.databaseDigest())

            let foreign = try await bia.requestPayment(hers, key: "tap-2")
            let absent = try await bia.requestPayment(
                AppClient.Enrollment(id: Walk.absentID, belvoID: ""), key: "tap-3")
            #expect(foreign.status == 400)
            #expect(
                try foreign.raw("errors")
                    == #"[{"field":"/enrollment","code":"not_found","message":"There is no such enrollment."}]"#)
            #expect(foreign.withoutRequestID == absent.withoutRequestID)
            // A key that another user has used is a new one.
            let sameKey = try await bia.requestPayment(hers)
            #expect(sameKey.withoutRequestID == absent.withoutRequestID)
            for filter in [
                "enrollments?belvo_id=\(hers.belvoID)", "enrollments?device_id=\(ana.deviceID)",
                "payment-intents?reference=order-1",
            ] {
                #expect(try await ana.app.send(.get, "/v1/\(filter)").each("id", in: "results").count == 1, "\(filter)")
                let found = try await bia.app.send(.get, "/v1/\(filter)")
                #expect(found.text == #"{"results":[],"next":null}"#, "\(filter)")
            }
            #expect(harness.sandbox.calls.count == calls)
            #expect(try await harness.databaseDigest() == digest)
            #expect(try await ana.payment(payment).string("next_action", "type") == "sign")
        }
    }

    @Test func `a cursor of another user's list shows only one's own`() async throws {
        try await TestHarness.open { harness in
            let ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let own = try await bia.startEnrollment()
            for _ in 0..<2 { _ = try await ana.startEnrollment() }
            let page = try await ana.app.send(.get, "/v1/enrollments?limit=1")
            let next = try page.string("next")
            let list = try await bia.app.send(.get, "/v1/enrollments?cursor=\(next)")
            #expect(try list.each("id", in: "results") == [own.id])
        }
    }
}

extension Answer {
    /// Whether it turns a stranger away, in full form.
    fileprivate func expectUnauthorized(_ occasion: String, isToldWhy: Bool) throws {
        #expect(status == 401, "\(occasion): \(text)")
        guard status == 401 else { return }
        #expect(response.headers.values("content-type") == ["application/problem+json"], "\(occasion)")
        #expect(try string("code") == "unauthorized", "\(occasion)")
        #expect(try raw("status") == "401", "\(occasion)")
        #expect(try string("request_id") == response.headers["x-request-id"], "\(occasion)")
        let challenges = response.headers.values("www-authenticate")
        #expect(challenges.count == 1, "\(occasion)")
        #expect(challenges.allSatisfy { $0.hasPrefix(#"Bearer realm="merchant""#) }, "\(occasion)")
        #expect(
            challenges.allSatisfy { $0.contains(#"error="invalid_token""#) == isToldWhy }, "\(occasion): \(challenges)")
    }

    /// All of it but what differs from request to request.
    fileprivate var withoutRequestID: String {
        var lines = ["\(response.status)", text]
        func collect(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
            let (name, value) = (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
            if name.lowercased() != "date" { lines.append("\(name): \(value)") }
        }
        response.headers.forEach(collect)
        let id = response.headers["x-request-id"] ?? ""
        return lines.joined(separator: "\n").replacing(id, with: "‹request›")
    }
}

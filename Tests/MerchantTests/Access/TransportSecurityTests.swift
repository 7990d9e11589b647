import HTTP
import TestSupport
import Testing
import Transport

@testable import MerchantServer

/// Whether browsers are told to come by https only.
@Suite struct TransportSecurityTests {
    @Test func `where the public address is https every answer says so, a refusal and a page too`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for path in ["/livez", "/nowhere", "/v1/customer", "/enrollments/callback"] {
                let fields = try await app.send(.get, path).response.headers.values("strict-transport-security")
                #expect(fields == ["max-age=31536000"], "\(path)")
            }
            let port = harness.addresses.api.port
            let nonsense = try await onThread {
                let client = try RawConnection(port: port)
                try client.send("nonsense\r\n\r\n")
                return try client.receiveToEnd()
            }
            #expect(nonsense.contains("\r\nstrict-transport-security: max-age=31536000\r\n"))
        }
    }

    @Test func `where the public address is http nothing is said of https`() async throws {
        try await TestHarness.open(environment: ["PUBLIC_BASE_URL": "http://127.0.0.1"]) { harness in
            let answer = try await harness.app(of: "ana").send(.get, "/livez")
            #expect(answer.response.headers["strict-transport-security"] == nil)
        }
    }
}

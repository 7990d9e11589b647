import HTTP
import Testing
import Transport

@testable import MerchantAPI

/// A client's address is the peer's, or what trusted proxies say that it is, and never what a client says.
struct TrustedProxiesTests {
    /// The peer, the `X-Forwarded-For` fields, and whose request it is.
    @Test(
        arguments: [
            // A client that is no proxy may write what it wants.
            ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),
            ("2001:db8::7", ["198.51.100.1"], "2001:db8::7"),
            // A proxy that says nothing, or nothing of use, speaks for itself.
            ("10.0.0.1", [], "10.0.0.1"),
            ("10.0.0.1", [""], "10.0.0.1"),
            ("10.0.0.1", [" , ,"], "10.0.0.1"),
            // The last address is the one that the proxy saw; those before it came with the request.
            ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["127.0.0.1,10.0.0.9,198.51.100.1"], "198.51.100.1"),
            // Several proxies in a row.
            ("10.0.0.1", ["1.1.1.1, 198.51.100.1, 10.2.3.4"], "198.51.100.1"),
            ("::1", ["1.1.1.1,198.51.100.1,\t10.2.3.4 ,10.0.0.1"], "198.51.100.1"),
            // Several fields are one list.
            ("10.0.0.1", ["1.1.1.1", "198.51.100.1", "10.2.3.4"], "198.51.100.1"),
            ("10.0.0.1", ["1.1.1.1, 198.51.100.1", "", "10.2.3.4,"], "198.51.100.1"),
            // A request of a proxy's own: the farthest of them.
            ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            // Ports and brackets.
            ("10.0.0.1", ["198.51.100.1:51234"], "198.51.100.1"),
            ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
            ("10.0.0.1", ["[2001:db8::7]"], "2001:db8::7"),
            ("10.0.0.1", ["[2001:DB8:0::7]:443"], "2001:db8::7"),
            ("10.0.0.1", ["198.51.100.1, [::1]:443"], "198.51.100.1"),
            ("10.0.0.1", ["198.51.100.1, ::ffff:10.0.0.2"], "198.51.100.1"),
            // What is no address: the proxy that passed it on.
            ("10.0.0.1", ["unknown"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.1, _hidden, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["198.51.100.1 198.51.100.2"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.1:99999"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.1:"], "10.0.0.1"),
            ("10.0.0.1", ["[198.51.100.1]"], "10.0.0.1"),
            ("10.0.0.1", ["[2001:db8::7"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.256"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100"], "10.0.0.1"),
            ("10.0.0.1", ["0x7f.1"], "10.0.0.1"),
            ("10.0.0.1", ["fe80::1%eth0"], "10.0.0.1"),
            ("10.0.0.1", [#""198.51.100.1""#], "10.0.0.1"),
            ("10.0.0.1", [String(repeating: "1", count: 8_000)], "10.0.0.1"),
        ] as [(String, [String], String)])
    func `the last hop that is no trusted proxy is the client`(
        peer: String, forwarded: [String], client: String
    ) throws {
        let proxies = TrustedProxies(["10.0.0.0/8", "::1"].compactMap { IPNetwork($0) })
        var request = Request(.get, "/v1/customer")
        for field in forwarded { request.headers.append("x-forwarded-for", field) }
        // Another tale of the same, which is not listened to.
        request.headers.append("forwarded", "for=192.0.2.1")
        request.headers.append("x-real-ip", "192.0.2.1")
        #expect(proxies.client(of: request, from: try #require(IPAddress(peer))) == IPAddress(client))
    }

    @Test func `where no proxy is trusted nobody is believed`() throws {
        let peer = try #require(IPAddress("127.0.0.1"))
        let request = Request(.get, "/v1/customer", headers: ["x-forwarded-for": "198.51.100.1"])
        #expect(TrustedProxies([]).client(of: request, from: peer) == peer)
    }
}

import Testing
import Transport

@testable import MerchantAPI

struct IPNetworkTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.1.2.3/8", "10.9.9.9", true),
        ("0.0.0.0/0", "255.255.255.255", true), ("0.0.0.0/0", "::1", false), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1/32", "192.0.2.0", false), ("192.0.2.0/31", "192.0.2.1", true),
        ("::/0", "2001:db8::1", true), ("::/0", "10.0.0.1", false), ("2001:db8::/32", "2001:db8:ffff::", true),
        ("2001:db8::/32", "2001:db9::", false), ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
        ("2001:db8::/65", "2001:db8:0:1::", false), ("2001:db8::/65", "2001:db8::7fff:0:0:1", true),
        ("2001:db8::1/128", "2001:db8::1", true),
        ("2001:db8::1", "2001:db8::2", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
        ("::ffff:10.1.1.1", "10.1.1.1", true),
    ])
    func `an address is in the network when it shares its prefix`(network: String, address: String, isIn: Bool) throws {
        let address = try #require(IPAddress(address))
        #expect(try #require(IPNetwork(network)).contains(address) == isIn)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/33", "::/129", "::ffff:10.0.0.0/104", "a",
    ])
    func `what is no network is refused`(text: String) {
        #expect(IPNetwork(text) == nil)
    }
}

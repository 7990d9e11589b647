import Testing

@testable import Transport

@Suite struct AddressTests {
    @Test(arguments: [
        "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+80", "127.0.0.1: 80",
        "127.0.0:80", "[127.0.0.1]:80", "::1:80", "[::1:80", "::1]:80", "[::1]", "localhost:80", "127.1:80",
        "[]:80", "127.0.0.1:8０",
    ])
    func `what is no numeric address with a port is refused`(_ text: String) {
        #expect(SocketAddress(parsing: text) == nil)
    }

    @Test(arguments: ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:443", "[2001:db8::17]:65535"])
    func `an address is written as it was read`(_ text: String) {
        #expect(SocketAddress(parsing: text)?.description == text)
    }

    @Test(arguments: [
        ("10.1.2.3", IPAddress.v4(0x0A01_0203)), ("::ffff:10.1.2.3", .v4(0x0A01_0203)), ("::1", .v6(0, 1)),
        ("2001:db8::5", .v6(0x2001_0DB8_0000_0000, 5)),
    ])
    func `an address without its port is one number, also when IPv6 wraps IPv4`(_ text: String, _ address: IPAddress) {
        #expect(IPAddress(text) == address)
        #expect(IPAddress(address.description) == address)
    }

    @Test(arguments: ["", "10.1.2", "10.1.2.3:80", "[::1]", "x"])
    func `what is no address is none`(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `a moment too far away is the end of the clock`() {
        let moment = Monotonic(nanoseconds: 5)
        #expect(moment + .seconds(Int64.max) == Monotonic(nanoseconds: .max))
        #expect(moment + .nanoseconds(7) == Monotonic(nanoseconds: 12))
        #expect(Monotonic(nanoseconds: 12) - moment == .nanoseconds(7))
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
        #expect(Duration.milliseconds(-3).wholeNanoseconds == -3_000_000)
    }
}

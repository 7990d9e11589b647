import Glibc
import Testing

@testable import Transport

/// Sockets that another process has opened (sd_listen_fds(3)).
@Suite struct InheritedListenersTests {
    /// Where the descriptors of these tests are put: far from those that others open meanwhile.
    private static let first: Int32 = 700

    private func take(_ sources: [Int32], at first: Int32, _ environment: [String: String]) throws -> InheritedListeners
    {
        for (place, source) in sources.enumerated() {
            try #require(dup2(source, first + Int32(place)) >= 0)
        }
        return try InheritedListeners(from: first) { environment[$0] }
    }

    @Test func `a listener is found by its name, or else by its place`() throws {
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        let (one, two) = (try Listener(at: address), try Listener(at: address))
        let sources = [one.descriptor.raw, two.descriptor.raw]
        let count = ["LISTEN_FDS": "2", "LISTEN_PID": "\(getpid())"]
        var named = try take(
            sources, at: Self.first, count.merging(["LISTEN_FDNAMES": "admin:api"]) { $1 })
        #expect(named.remove("api", among: ["api", "admin"])?.address.port == two.address.port)
        #expect(named.remove("admin", among: ["api", "admin"])?.address.port == one.address.port)
        #expect(named.remove("api", among: ["api", "admin"]) == nil)
        var unnamed = try take(sources, at: Self.first + 10, count)
        #expect(unnamed.remove("api", among: ["api", "admin"])?.address.port == one.address.port)
        #expect(unnamed.remove("admin", among: ["api", "admin"])?.address.port == two.address.port)
        var other = try take(
            sources, at: Self.first + 20, count.merging(["LISTEN_FDNAMES": "merchant.socket:admin"]) { $1 })
        #expect(other.remove("admin", among: ["api", "admin"])?.address.port == two.address.port)
        #expect(other.remove("api", among: ["api", "admin"])?.address.port == one.address.port)
    }

    @Test func `what is meant for another process is left alone`() throws {
        let environment = ["LISTEN_FDS": "1", "LISTEN_PID": "1"]
        var inherited = try InheritedListeners(from: 900) { environment[$0] }
        #expect(inherited.remove("api", among: ["api"]) == nil)
    }

    @Test func `a descriptor that does not listen is refused`() throws {
        let (read, write) = try pipeEnds()
        defer { close(write) }
        #expect(throws: SystemError.self) {
            _ = try take([read], at: Self.first + 30, ["LISTEN_FDS": "1", "LISTEN_PID": "\(getpid())"])
        }
        close(read)
        close(Self.first + 30)
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(throws: SystemError.self) {
            _ = try take([silent], at: Self.first + 40, ["LISTEN_FDS": "1", "LISTEN_PID": "\(getpid())"])
        }
        close(silent)
        close(Self.first + 40)
    }

    private func pipeEnds() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }
}

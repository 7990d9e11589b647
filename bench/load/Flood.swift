import ArgumentParser
import Glibc
import HTTP
import Synchronization
import Transport

struct Flood: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays somebody who means harm, until it is ended.",
        discussion: """
            Prints a line every second: SECONDS, and then each status with how often it was answered so far; 0 stands
            for no answer. Whose address it comes from is said by X-Forwarded-For, for a server that trusts its peer.
            """)

    enum Harm: String, ExpressibleByArgument, CaseIterable {
        /// A bank's redirect that was made up, each another one.
        case callbacks
        /// The same as forms of 32 KB.
        case forms
        /// The shop's token and users' tokens, guessed.
        case tokens
        /// One user asks for everything that he may, and for more.
        case user
        /// One user has enrollments as large as they may be, and asks for their list on connections that never read.
        case readers
    }

    @Option(help: "The server's origin.") var merchant: String
    @Option(help: "What is done.") var harm: Harm
    @Option(help: "Requests a second; with readers connections in all.") var rate = 300
    @Option(help: "Addresses that it comes from.") var addresses = 1
    @Option(help: "The user's token.") var token = ""
    @Option(help: "The body that begins an enrollment.") var enrollment = "{}"

    /// Requests that are not answered, at most.
    private static let width = 512

    func run() throws {
        DescriptorLimit.raise()
        let origin = try origin(merchant)
        let loop = try EventLoop()
        var configuration = ClientConfiguration()
        configuration.connectionsMax = Self.width
        let client = Client(origin: origin, configuration: configuration)
        let statuses = Statuses()
        let flood = self
        _ = loop.task {
            if flood.harm == .readers { await flood.hold(client, of: origin, statuses) }
            let start = Monotonic.now()
            var sent = 0
            while true {
                let due = Int((Monotonic.now() - start) / .milliseconds(1)) * flood.rate / 1_000
                while flood.harm != .readers, sent < due {
                    sent += 1
                    guard statuses.begin(max: Self.width) else { continue }
                    let request = flood.request(sent)
                    _ = loop.task {
                        // No answer is an outcome too.
                        let answer = try? await client.send(request, deadline: .seconds(15))
                        statuses.end(answer?.status.code ?? 0)
                    }
                }
                statuses.tell(after: Monotonic.now() - start)
                try await loop.sleep(for: .milliseconds(5))
            }
        }
        loop.run()
    }

    /// The next request, different from all others where that makes it worse.
    private func request(_ number: Int) -> Request {
        let noise = String.randomKey()
        var request: Request
        switch harm {
        case .callbacks:
            let query = "state=\(noise)&code=\(noise)"
            request = Request(.get, Target(stringLiteral: "/enrollments/callback?\(query)"))
        case .forms:
            let text = "state=\(noise)&code=\(noise)&id_token=\(String(repeating: "x", count: 16_000))"
            request = Request(
                .post, "/enrollments/callback", headers: ["content-type": "application/x-www-form-urlencoded"],
                body: Array((text + "&padding=\(String(repeating: "y", count: 15_000))").utf8))
        case .tokens:
            request = Request(.get, number.isMultiple(of: 2) ? "/orders/1" : "/v1/enrollments")
            request.headers.append("authorization", "Bearer \(noise)")
        case .user, .readers:
            switch number % 4 {
            case 0:
                request = Request(.post, "/v1/enrollments", body: Array(enrollment.utf8))
            case 1:
                let body = #"{"state": "\#(noise)", "code": "\#(noise)", "id_token": "t"}"#
                request = Request(.post, "/v1/enrollments/complete-redirection", body: Array(body.utf8))
            case 2: request = Request(.get, "/v1/enrollments?limit=100")
            default: request = Request(.post, "/v1/widget-token")
            }
            if request.method == .post { request.headers.append("content-type", "application/json") }
            request.headers.append("authorization", "Bearer \(token)")
        }
        let address = number % max(1, addresses)
        request.headers.append("x-forwarded-for", "203.0.\(address / 256 % 256).\(address % 256)")
        return request
    }

    /// Fills the user's list, and opens the connections that ask for it and never read.
    private func hold(_ client: Client, of origin: URL.Origin, _ statuses: Statuses) async {
        for _ in 0..<100 {
            var request = Request(.post, "/v1/enrollments", body: Array(enrollment.utf8))
            request.headers.append("content-type", "application/json")
            request.headers.append("authorization", "Bearer \(token)")
            guard statuses.begin(max: 1) else { continue }
            // No answer is an outcome too.
            statuses.end((try? await client.send(request, deadline: .seconds(15)))?.status.code ?? 0)
        }
        let request = """
            GET /v1/enrollments?limit=100 HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.0.1\r
            Authorization: Bearer \(token)\r\n\r\n
            """
        for _ in 0..<rate { UnreadConnection.open(port: origin.port, request) }
    }
}

/// What was answered so far.
private final class Statuses: Sendable {
    private struct State {
        var open = 0
        var counts: [Int: Int] = [:]
        var told = 0
    }

    private let state = Mutex(State())

    /// Counts a request that is about to leave; false where too many have no answer yet.
    func begin(max: Int) -> Bool {
        state.withLock { state in
            guard state.open < max else { return false }
            state.open += 1
            return true
        }
    }

    func end(_ status: Int) {
        state.withLock { state in
            state.open -= 1
            state.counts[status, default: 0] += 1
        }
    }

    func tell(after time: Duration) {
        let seconds = Int(time / .seconds(1))
        let line = state.withLock { state -> String? in
            guard seconds > state.told else { return nil }
            state.told = seconds
            let counts = state.counts.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }
            return (["\(seconds)"] + counts).joined(separator: " ")
        }
        if let line { say(line) }
    }
}

/// A connection on which something is asked and nothing read.
private enum UnreadConnection {
    /// Opens one to a port of 127.0.0.1 and leaves it open until the program ends. Wraps `socket` and `connect`.
    static func open(port: UInt16, _ request: String) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var size: Int32 = 4_096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        _ = request.withCString { write(descriptor, $0, strlen($0)) }
    }
}

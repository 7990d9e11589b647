import HTTP
import Transport

/// HAProxy in front of several instances, as its users set it up: each healthy one in turn.
final class Balancer: Sendable {
    let port: UInt16
    private let child: Child

    /// Starts it; `servers` are the names and ports of the instances.
    init(over servers: [(name: String, port: UInt16)], in directory: String) throws {
        port = try Port.free()
        let lines = servers.map { "    server \($0.name) 127.0.0.1:\($0.port) check" }.joined(separator: "\n")
        try TextFile.write(
            """
            global
                log stdout format raw local0
                maxconn 2000
            defaults
                mode http
                log global
                log-format "request %s %ST %ts %HM %HP %Tt"
                option redispatch
                retries 2
                retry-on conn-failure
                timeout connect 1s
                timeout client 60s
                timeout server 30s
            frontend door
                bind 127.0.0.1:\(port)
                default_backend servers
            backend servers
                balance roundrobin
                option httpchk GET /readyz
                http-check expect status 200
                default-server inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
            \(lines)

            """, to: "\(directory)/haproxy.cfg")
        child = try Child(
            "haproxy", ["haproxy", "-db", "-f", "\(directory)/haproxy.cfg"], log: "\(directory)/haproxy.log")
    }

    func waitUntilReady() async throws {
        guard await eventually(within: .seconds(10), { await Probe.status(of: "/livez", at: port) == 200 }) else {
            throw CommandFailed(description: "HAProxy does not answer:\n\(TextFile.end(of: child.log))")
        }
    }

    func stop() { child.kill() }

    /// Waits until it has noticed that a server is gone (`DOWN`) or there again (`UP`).
    func waitUntil(_ name: String, is state: String) async throws {
        let isSo = await eventually(within: .seconds(20), every: .milliseconds(50)) {
            // As HAProxy words it: "Server servers/merchant-2 is DOWN, reason: ...".
            TextFile.read(child.log).split(separator: "\n").contains {
                $0.contains("Server servers/\(name) is \(state)")
            }
        }
        if !isSo { throw CommandFailed(description: "HAProxy does not notice that \(name) is \(state)") }
    }

    /// Requests that came to nothing, by the server at which they were: nothing of an instance answered them.
    var failures: [String: Int] {
        var failures: [String: Int] = [:]
        for line in TextFile.read(child.log).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 7, words[0] == "request", let status = Int(words[2]) else { continue }
            // The first letter says who ended the session early: a client that has hung up (C) is none of the servers'
            // doing.
            let isBroken = words[3] != "--" && words[3].first != "C"
            if isBroken || status >= 500 || status < 0 { failures[String(words[1]), default: 0] += 1 }
        }
        return failures
    }
}

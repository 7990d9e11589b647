import ArgumentParser
import HTTP
import SoftwareAuthenticator
import Transport

struct Idle: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Opens many connections, asks once on each, and keeps them without asking more.",
        discussion: """
            Orders on standard input, one a line, each answered by a line:
              open       opens them all, and gets one answer on each
              close      closes them all
            The line "started" comes first. The end of the input ends the program.
            """)

    @Option(help: "What is asked for.") var url: String
    @Option(help: "How many connections.") var connections: Int

    func run() throws {
        DescriptorLimit.raise()
        guard let url = URL(url) else { throw ValidationError("--url takes an http or https URL.") }
        let loop = try EventLoop()
        let count = connections
        _ = loop.task {
            do {
                let crowd = IdleCrowd(of: count, at: url, on: loop)
                say("started")
                while let line = await BlockingThreads.shared.run({ readLine() }) {
                    say(try await crowd.obey(line))
                }
                loop.stop()
            } catch {
                Idle.exit(withError: error)
            }
        }
        loop.run()
    }
}

/// Clients with one connection each. They run on one loop.
private final class IdleCrowd {
    private let url: URL
    private let loop: EventLoop
    private let clients: [Client]

    /// So many at a time: it is not the storm that is to be measured.
    private static let width = 32

    init(of count: Int, at url: URL, on loop: EventLoop) {
        self.url = url
        self.loop = loop
        var configuration = ClientConfiguration()
        configuration.connectionsMax = 1
        configuration.idleDeadline = .seconds(600)
        clients = (0..<count).map { _ in Client(origin: url.origin, configuration: configuration) }
    }

    /// Does what the order says and gives the line that answers it.
    func obey(_ order: String) async throws -> String {
        switch order {
        case "open":
            for start in stride(from: 0, to: clients.count, by: Self.width) {
                let asked = clients[start..<min(start + Self.width, clients.count)].map { client in
                    loop.task { [target = url.target] in
                        try await client.send(Request(.get, target), deadline: .seconds(20)).status
                    }
                }
                for answer in asked {
                    let status = try await answer.value
                    guard status == .ok else { throw ValidationError("\(url) answers \(status.code).") }
                }
            }
            return "opened"
        case "close":
            for client in clients { await client.closeIdle(on: loop) }
            return "closed"
        default: throw ValidationError("There is no order \"\(order)\".")
        }
    }
}

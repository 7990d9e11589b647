import ArgumentParser
import Glibc
import HTTP
import Transport

struct Secure: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Asks over TLS for some seconds, and tells what that cost this process.",
        discussion: """
            Prints how many requests were answered, and the nanoseconds of processor time that they took. With "full"
            and "resumed" the server has to close each connection behind its answer.
            """)

    enum Way: String, ExpressibleByArgument, CaseIterable {
        /// A handshake from nothing for each request.
        case full
        /// A handshake that resumes the session of an earlier one, for each request.
        case resumed
        /// Connections that stay open.
        case kept
    }

    @Option(help: "What is asked for: an https URL.") var url: String
    @Option(help: "The authority of the server's certificate, a PEM file.") var caFile: String
    @Option(help: "How connections begin.") var way: Way
    @Option(help: "Requests at a time.") var width = 8
    @Option(help: "For how long.") var seconds = 1
    @Option(help: "For how long before that, uncounted.") var warmUpMilliseconds = 200
    @Option(help: "The body that every answer has to have; else any.") var body: String?

    func run() throws {
        guard let url = URL(url) else { throw ValidationError("--url takes an https URL.") }
        let loop = try EventLoop()
        let asking = Asking(url: url, tls: try TLSContext.client(extraAuthorities: caFile), way: way)
        let (width, seconds, body) = (width, seconds, body.map { Array($0.utf8) })
        let warmUp = Duration.milliseconds(warmUpMilliseconds)
        _ = loop.task {
            do {
                // The first answers bring the session that later ones resume, and the memory that all share.
                _ = try await asking.answers(
                    of: nil, width: width, on: loop, until: Monotonic.now() + warmUp)
                let before = Self.processorNanoseconds
                let count = try await asking.answers(
                    of: body, width: width, on: loop, until: Monotonic.now() + .seconds(seconds))
                print(count, Self.processorNanoseconds - before)
                loop.stop()
            } catch {
                Secure.exit(withError: error)
            }
        }
        loop.run()
    }

    /// What the whole process has used until now.
    private static var processorNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// One URL that is asked for again and again.
private final class Asking: Sendable {
    private let url: URL
    private let tls: TLSContext
    private let way: Secure.Way
    private let client: Client

    init(url: URL, tls: TLSContext, way: Secure.Way) {
        self.url = url
        self.tls = tls
        self.way = way
        client = Client(origin: url.origin, tls: tls)
    }

    /// How many answers came until then, each with that body.
    func answers(of body: [UInt8]?, width: Int, on loop: EventLoop, until end: Monotonic) async throws -> Int {
        let askers = (0..<width).map { _ in
            loop.task { [self] in
                var count = 0
                while Monotonic.now() < end {
                    try await ask(for: body, on: loop)
                    count += 1
                }
                return count
            }
        }
        var count = 0
        for asker in askers { count += try await asker.value }
        return count
    }

    private func ask(for body: [UInt8]?, on loop: EventLoop) async throws {
        // A client that has never been there has no session to resume.
        let client = way == .full ? Client(origin: url.origin, tls: tls) : client
        let answer = try await client.send(Request(.get, url.target), deadline: .seconds(5))
        if way == .full { await client.closeIdle(on: loop) }
        guard answer.status == .ok else { throw ValidationError("\(url) answers \(answer.status.code).") }
        guard let body, answer.body != body else { return }
        throw ValidationError("\(url) answers \"\(String(decoding: answer.body, as: UTF8.self))\".")
    }
}

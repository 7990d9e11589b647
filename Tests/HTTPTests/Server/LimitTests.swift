import Glibc
import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct LimitTests {
    @Test func `a connection too many is told so, and the others go on`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.connectionsMax = 2 }
        let work = Work(expected: 2)
        try await RunningServer.run(configure: configure, handler: work.answer) { server in
            let clients = try (0..<2).map { _ in try server.connect() }
            for client in clients { try client.send(get("/work")) }
            await work.hasBegun.pass()
            // A client that has sent a request before it is refused gets the answer all the same.
            let answer = try await server.answer(to: get("/third"))
            #expect(transcript(answer) == ["503 too many connections are open"])
            #expect(answer.contains("\r\nconnection: close\r\n"))
            work.mayEnd.open()
            for client in clients { _ = try await onThread { try client.receive(through: "\r\n\r\n/work") } }
            try clients[1].send(get("/again"))
            _ = try await onThread { try clients[1].receive(through: "\r\n\r\n/again") }
            // Room for one more as soon as one has gone.
            clients[0].finishWriting()
            _ = try await onThread { try clients[0].receiveToEnd() }
            let served = try await server.answer(to: get("/fourth", closing: true))
            #expect(transcript(served) == ["200 /fourth"])
        }
    }

    @Test func `a storm of connections too many is refused, and harms nobody`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.connectionsMax = 1 }
        let work = Work(expected: 1)
        try await RunningServer.run(configure: configure, handler: work.answer) { server in
            let client = try server.connect()
            try client.send(get("/work"))
            await work.hasBegun.pass()
            // More than are told at a time that they are too many; none of them goes away by itself.
            let storm = try (0..<400).map { _ in try server.connect() }
            let words = try await onThread { storm.map { (try? $0.receiveToEnd()) ?? "" } }
            #expect(Set(words.map { $0.prefix(12) }).isSubset(of: ["HTTP/1.1 503", ""]))
            #expect(words.count { $0.hasPrefix("HTTP/1.1 503 ") } >= 256)
            work.mayEnd.open()
            _ = try await onThread { try client.receive(through: "\r\n\r\n/work") }
            try client.send(get("/still"))
            _ = try await onThread { try client.receive(through: "\r\n\r\n/still") }
        }
    }

    @Test func `one address has no more connections than its share, unless it is a proxy's`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.connectionsPerAddressMax = 1
            $0.isProxy = { $0 == IPAddress("127.0.0.3") }
        }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let first = try server.connect()
            try first.send(get("/"))
            _ = try await onThread { try first.receive(through: "\r\n\r\n/") }
            let refused = try await server.answer(to: get("/second"))
            #expect(transcript(refused) == ["503 too many connections are open from this address"])
            // Another client, and several behind one proxy.
            let others = try [2, 3, 3, 3].map { try server.connect(from: $0) }
            for other in others { try other.send(get("/")) }
            for other in others { _ = try await onThread { try other.receive(through: "\r\n\r\n/") } }
            first.finishWriting()
            _ = try await onThread { try first.receiveToEnd() }
            let again = try await server.answer(to: get("/again", closing: true))
            #expect(transcript(again) == ["200 /again"])
        }
    }

    @Test func `of an address with too many connections those that rest make room for one that asks`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.connectionsPerAddressMax = 16 }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let resting = try (0..<16).map { _ in try server.connect() }
            for client in resting { try client.send(get("/")) }
            for client in resting { _ = try await onThread { try client.receive(through: "\r\n\r\n/") } }
            let another = try await server.answer(to: get("/another", closing: true))
            #expect(transcript(another) == ["200 /another"])
            // The last to have asked is still there.
            try resting[15].send(get("/again"))
            _ = try await onThread { try resting[15].receive(through: "\r\n\r\n/again") }
        }
    }

    @Test func `over TLS a connection too many is closed without a handshake`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("IP:127.0.0.1")
        let tls = try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.connectionsMax = 0 }
        try await RunningServer.run(tls: tls, configure: configure, handler: echoPath) { server in
            let words = try await server.answer(to: "")
            #expect(words.isEmpty)
        }
    }

    @Test func `the last request that a connection may carry closes it`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.requestsPerConnectionMax = 3 }
        let answers = try await RunningServer.run(configure: configure, handler: echoPath) {
            // A server that answered the fourth too would close only then.
            try await $0.answer(to: get("/1") + get("/2") + get("/3") + get("/4", closing: true))
        }
        #expect(transcript(answers) == ["200 /1", "200 /2", "200 /3"])
        #expect(answers.ranges(of: "\r\nconnection: close\r\n").count == 1)
    }

    @Test func `without descriptors connections wait, and are served when there are some again`() async {
        // The limit is the whole process's, so this needs one of its own.
        await #expect(processExitsWith: .success) {
            let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.acceptPause = .milliseconds(1) }
            try await RunningServer.run(configure: configure, handler: echoPath) { server in
                // What the runtime opens for its own threads is open before descriptors are counted.
                await Task.detached {}.value
                // On the server's own loop: it cannot accept any of them yet.
                let clients = try (0..<8).map { _ in try server.connect() }
                // The lowest three that are free are all that will be left.
                let free = (0..<3).map { _ in dup(clients[0].descriptor) }
                for descriptor in free { close(descriptor) }
                let end = rlim_t(free[2]) + 1
                var limit = rlimit(rlim_cur: end, rlim_max: end)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                for client in clients { try client.send(get("/")) }
                let (answered, share) = try await onThread {
                    for client in clients.prefix(3) { try client.receive(through: "\r\n\r\n/") }
                    let (start, used) = (Monotonic.now(), processorTime())
                    let answered = clients[3...].contains { $0.hasSomethingToRead(within: .milliseconds(50)) }
                    return (answered, (processorTime() - used) / (Monotonic.now() - start))
                }
                #expect(!answered)
                // The loop does not spin meanwhile: accepting is tried anew now and then, which takes next to no time.
                #expect(share < 0.5)
                try await onThread {
                    for client in clients.prefix(3) { client.hangUp() }
                    for client in clients.dropFirst(3) {
                        try client.receive(through: "\r\n\r\n/")
                        client.hangUp()
                    }
                }
            }
        }
    }

    @Test func `those who come together, and whose time is up together, take turns with others`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(100)
            $0.drainGrace = .zero
        }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let isOver = Gate()
            let watch = try await server.loop.task {
                // The server gets all of them in one turn of its loop.
                let clients = try (0..<300).map { _ in try server.connect() }
                let watch = TurnWatch(server.loop) { isOver.open() }
                watch.look()
                return LoopBound((watch, clients), on: server.loop)
            }.value
            await isOver.pass()
            let (most, greatestRise, greatestFall) = try await server.loop.task { watch.value.0.summary }.value
            #expect(most >= 300)
            #expect(greatestRise <= 16)
            #expect(greatestFall <= 32)
        }
    }

    @Test func `no request is worked on away from its loop`() async throws {
        let wanderers = Box(0)
        let threads = Box<Set<UInt>>([])
        let handler: Server.Handler = { request, context in
            let before = EventLoop.current
            let thread = UInt(pthread_self())
            threads.update { $0.insert(thread) }
            await Task.yield()
            // A task that has slept must come back to its loop.
            try? await EventLoop.current?.sleep(for: .microseconds(Int.random(in: 0..<200)))
            if EventLoop.current !== before || before == nil || UInt(pthread_self()) != thread {
                wanderers.update { $0 += 1 }
            }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            try await withThrowingTaskGroup { group in
                for _ in 0..<16 {
                    group.addTask {
                        let text = (0..<50).map { get("/\($0)") }.joined() + get("/last", closing: true)
                        let answers = try await server.answer(to: text)
                        #expect(transcript(answers).count == 51)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(wanderers.value == 0)
        #expect(threads.value.count == 1)
    }
}

/// Requests for `/work` that go on until they may end.
private struct Work: Sendable {
    let hasBegun = Gate()
    let mayEnd = Gate()
    private let count = Box(0)
    private let expected: Int

    init(expected: Int) {
        self.expected = expected
    }

    @Sendable nonisolated(nonsending) func answer(_ request: Request, _ context: RequestContext) async -> Reply {
        if request.target.path == "/work" {
            count.update { $0 += 1 }
            if count.value == expected { hasBegun.open() }
            await mayEnd.pass()
        }
        return await echoPath(request, context)
    }
}

/// The processor time that this process has used until now.
private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Looks in every turn of a loop how many descriptors it watches, until they are as few as at the beginning.
private final class TurnWatch {
    private let loop: EventLoop
    private let end: () -> Void
    private var counts: [Int] = []

    init(_ loop: EventLoop, end: @escaping () -> Void) {
        self.loop = loop
        self.end = end
    }

    func look() {
        counts.append(loop.registrationCount)
        guard let first = counts.first, let most = counts.max(), most > first, counts.last == first else {
            _ = loop.schedule(after: .zero) { self.look() }
            return
        }
        end()
    }

    var summary: (most: Int, greatestRise: Int, greatestFall: Int) {
        let steps = zip(counts, counts.dropFirst()).map { $1 - $0 }
        return (counts.max() ?? 0, steps.max() ?? 0, -(steps.min() ?? 0))
    }
}

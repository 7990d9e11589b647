import Glibc
import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct LimitTests {
    @Test func `past the cap connections wait until others close`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.connectionsMax = 2
            $0.acceptPause = .milliseconds(1)
        }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let clients = try (0..<3).map { _ in try server.connect() }
            for client in clients { try client.send(get("/")) }
            for client in clients.prefix(2) { _ = try await onThread { try client.receive(through: "\r\n\r\n/") } }
            let isServedEarly = try await onThread { clients[2].hasSomethingToRead(within: .milliseconds(50)) }
            #expect(!isServedEarly)
            clients[0].hangUp()
            let answer = try await onThread { try clients[2].receive(through: "\r\n\r\n/") }
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `without descriptors connections wait, and are served when there are some again`() async {
        // The limit is the whole process's, so this needs one of its own.
        await #expect(processExitsWith: .success) {
            let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.acceptPause = .milliseconds(1) }
            try await RunningServer.run(configure: configure, handler: echoPath) { server in
                // On the server's own loop: it cannot accept any of them yet.
                let clients = try (0..<8).map { _ in try server.connect() }
                // The lowest three that are free are all that will be left.
                let free = (0..<3).map { _ in dup(clients[0].descriptor) }
                for descriptor in free { close(descriptor) }
                let end = rlim_t(free[2]) + 1
                var limit = rlimit(rlim_cur: end, rlim_max: end)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                for client in clients { try client.send(get("/")) }
                let answered = try await onThread {
                    for client in clients.prefix(3) { try client.receive(through: "\r\n\r\n/") }
                    return clients[3...].contains { $0.hasSomethingToRead(within: .milliseconds(20)) }
                }
                #expect(!answered)
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

    @Test func `no request is worked on away from its loop`() async throws {
        let wanderers = Box(0)
        let threads = Box<Set<UInt>>([])
        let handler: Server.Handler = { request, context in
            let before = EventLoop.current
            let thread = UInt(pthread_self())
            threads.update { $0.insert(thread) }
            await Task.yield()
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

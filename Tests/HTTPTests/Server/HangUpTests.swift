import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct HangUpTests {
    /// A handler that waits at a gate, and says when it is at work and when it is done.
    private struct Work: Sendable {
        let isBegun = Gate()
        let gate = Gate()
        let isDone = Gate()

        var handler: Server.Handler {
            { request, context in
                isBegun.open()
                await gate.pass()
                isDone.open()
                return await echoPath(request, context)
            }
        }
    }

    @Test func `a client that hangs up does not stop what was begun for it`() async throws {
        let work = Work()
        try await RunningServer.run(handler: work.handler) { server in
            let client = try server.connect()
            try client.send(get("/"))
            await work.isBegun.pass()
            client.reset()
            work.gate.open()
            await work.isDone.pass()
        }
    }

    @Test func `draining waits for a handler whose client is gone`() async throws {
        let work = Work()
        try await RunningServer.run(handler: work.handler) { server in
            let client = try server.connect()
            try client.send(get("/"))
            await work.isBegun.pass()
            client.reset()
            // A round trip: by then the loop has heard of the reset.
            let other = try server.connect()
            other.finishWriting()
            _ = try await onThread { try other.receiveToEnd() }
            // Opened from outside, and long after a server that did not wait would have drained.
            server.loop.schedule(after: .milliseconds(100)) { work.gate.open() }
            await server.drain()
            #expect(work.isDone.isOpen)
        }
    }

    @Test func `an accepted request is finished while the server drains, and its answer closes`() async throws {
        let work = Work()
        try await RunningServer.run(handler: work.handler) { server in
            let client = try server.connect()
            try client.send(get("/accepted") + get("/pipelined"))
            await work.isBegun.pass()
            async let draining: Void = server.drain()
            try await server.loop.task {}.value
            work.gate.open()
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 /accepted"])
            #expect(answer.contains("\r\nconnection: close\r\n"))
            client.hangUp()
            await draining
        }
    }

    @Test func `a request on its way when draining began is answered, and its answer closes`() async throws {
        try await RunningServer.run(handler: echoPath) { server in
            let client = try server.connect()
            try client.send(get("/1"))
            _ = try await onThread { try client.receive(through: "\r\n\r\n/1") }
            let draining = server.loop.task { await server.drain() }
            // The loop does one thing after the other: when this one is done, draining has put its own in line.
            _ = try await server.loop.task {}.value
            try await server.loop.task { try client.send(get("/2")) }.value
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 /2"])
            #expect(answer.contains("connection: close"))
            client.finishWriting()
            try await draining.value
        }
    }

    @Test func `whoever was connected when draining began is answered, accepted or not`() async throws {
        try await RunningServer.run(handler: echoPath) { server in
            // More than the server accepts at a time, so that most of them stand in the kernel's line.
            let clients = try await server.loop.task {
                let clients = try (0..<300).map { _ in try server.connect() }
                for client in clients { try client.send(get("/")) }
                return clients
            }.value
            let draining = server.loop.task { await server.drain() }
            var closedCount = 0
            for client in clients {
                let answer = try await onThread { try client.receiveToEnd() }
                client.hangUp()
                #expect(transcript(answer) == ["200 /"])
                if answer.contains("connection: close") { closedCount += 1 }
            }
            // Those who were accepted before it began were answered before, too.
            #expect(closedCount >= 100)
            try await draining.value
        }
    }

    @Test func `a request that comes as its connection's idle time ends is answered`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.idleDeadline = .seconds(3) }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            // More events than the loop gets at a time: the last of them are not handled when it checks the deadlines.
            let clients = try (0..<600).map { _ in try server.connect() }
            for client in clients { try client.send(get("/1")) }
            for client in clients { _ = try await onThread { try client.receive(through: "\r\n\r\n/1") } }
            _ = try await server.loop.task {
                for client in clients { try client.send(get("/2", closing: true)) }
                // Until the time of all of them is up.
                usleep(3_100_000)
            }.value
            var lostCount = 0
            for client in clients {
                let answer = try? await onThread { try client.receiveToEnd() }
                if answer.map(transcript) != ["200 /2"] { lostCount += 1 }
            }
            #expect(lostCount == 0)
        }
    }

    @Test func `a request that crosses the end of its connection is not begun, and meets no reset`() async throws {
        let requestCount = Atomic(0)
        let handler: Server.Handler = { request, context in
            requestCount.add(1, ordering: .relaxed)
            return await echoPath(request, context)
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.idleDeadline = .milliseconds(50)
            $0.drainGrace = .seconds(20)
        }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect()
            let answer = try await onThread {
                try client.send(get("/1"))
                let first = try client.receive(through: "\r\n\r\n/1")
                #expect(client.hasSomethingToRead(within: .seconds(20)))
                // After a reset the second one of these would fail.
                for _ in 0..<2 { try client.send(get("/2")) }
                client.finishWriting()
                return first + (try client.receiveToEnd())
            }
            #expect(transcript(answer) == ["200 /1"])
            #expect(requestCount.load(ordering: .relaxed) == 1)
        }
    }

    @Test func `idle connections are closed when the server drains, and no new ones are served`() async throws {
        try await RunningServer.run(handler: echoPath) { server in
            let (one, two) = (try server.connect(), try server.connect())
            try one.send(get("/"))
            _ = try await onThread { try one.receive(through: "\r\n\r\n/") }
            await server.drain()
            let rest = try await onThread { try one.receiveToEnd() }
            #expect(rest.isEmpty)
            // Accepted or not when draining began: nothing is said on it, nor on one that comes later.
            let unserved = try? await onThread { try two.receiveToEnd() }
            #expect((unserved ?? "").isEmpty)
            let late = try? await server.answer(to: get("/"))
            #expect((late ?? "").isEmpty)
        }
    }

    @Test func `draining does not wait past its deadline`() async throws {
        let work = Work()
        try await RunningServer.run(handler: work.handler) { server in
            let client = try server.connect()
            try client.send(get("/"))
            await work.isBegun.pass()
            await server.drain(within: .milliseconds(10))
            #expect(!work.isDone.isOpen)
            work.gate.open()
            let answer = try? await onThread { try client.receiveToEnd() }
            #expect((answer ?? "").isEmpty)
        }
    }
}

import HTTP
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

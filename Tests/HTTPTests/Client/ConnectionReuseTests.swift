import Glibc
import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct ConnectionReuseTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let answered = Outcome.answered(200, "ok")

    @Test func `requests go on one connection as long as it is kept`() async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            for _ in 0..<3 { try connection.answerOne(with: Self.ok) }
        } body: { upstream in
            [await upstream.outcome(), await upstream.outcome(), await upstream.outcome()]
        }
        #expect(outcomes == [Self.answered, Self.answered, Self.answered])
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        // What comes behind an answer would be read as the answer to the next request.
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    ])
    func `a connection is not used again behind an answer that ends it`(_ answer: String) async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let first = try listener.accept()
            try first.answerOne(with: answer)
            try listener.accept().answerOne(with: Self.ok)
        } body: { upstream in
            [await upstream.outcome(), await upstream.outcome()]
        }
        #expect(outcomes == [Self.answered, Self.answered])
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 408 Request Timeout\r\n\r\n"])
    func `a connection on which the server spoke out of turn, or closed, is not used again`(
        _ afterthought: String
    ) async throws {
        let hasSpoken = Gate()
        let outcomes = try await ScriptedUpstream.run { listener in
            let first = try listener.accept()
            try first.answerOne(with: Self.ok)
            try first.send(afterthought)
            if afterthought.isEmpty { first.hangUp() }
            hasSpoken.open()
            try listener.accept().answerOne(with: Self.ok)
        } body: { upstream in
            let first = await upstream.outcome()
            // The loop stands still until the server has spoken, so it cannot have heard of it by an event.
            while !hasSpoken.isOpen { sched_yield() }
            return [first, await upstream.outcome()]
        }
        #expect(outcomes == [Self.answered, Self.answered])
    }

    @Test func `a request lost on a connection used again is a lost answer and is not sent once more`() async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.answerOne(with: Self.ok)
            try connection.receive(through: "\r\n\r\n")
            connection.reset()
            // The next connection brings the next request, not the lost one again.
            let next = try listener.accept()
            let request = try next.receive(through: "\r\n\r\n")
            try next.send(request.hasPrefix("GET /third ") ? Self.ok : "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n")
        } body: { upstream in
            [
                await upstream.outcome(of: Request(.get, "/first")),
                await upstream.outcome(of: Request(.post, "/second", body: [0x78])),
                await upstream.outcome(of: Request(.get, "/third")),
            ]
        }
        #expect(outcomes == [Self.answered, .answerLost, Self.answered])
    }

    @Test func `past the cap requests wait in line, and take the connection over in order`() async throws {
        let configure: (inout ClientConfiguration) -> Void = { $0.connectionsMax = 1 }
        let order = try await ScriptedUpstream.run(configure: configure) { listener in
            let connection = try listener.accept()
            for _ in 0..<20 { try connection.answerOne(with: Self.ok) }
        } body: { upstream in
            let order = Box<[Int]>([])
            await withTaskGroup { group in
                for number in 0..<20 {
                    group.addTask(executorPreference: upstream.loop) {
                        if await upstream.outcome() == Self.answered { order.update { $0.append(number) } }
                    }
                }
            }
            return order.value
        }
        #expect(order == Array(0..<20))
    }

    @Test func `a request whose turn does not come in time was not sent`() async throws {
        let configure: (inout ClientConfiguration) -> Void = { $0.connectionsMax = 1 }
        let outcomes = try await ScriptedUpstream.run(configure: configure) { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            // It ends when the client gives the first request up, and the third opens another.
            _ = try connection.receive()
            try listener.accept().answerOne(with: Self.ok)
        } body: { upstream in
            async let first = upstream.outcome(deadline: .milliseconds(300))
            async let second = upstream.outcome(deadline: .milliseconds(50))
            async let third = upstream.outcome()
            return [await first, await second, await third]
        }
        #expect(outcomes == [.timedOut, .notSent, Self.answered])
    }

    @Test func `closing idle connections lets a request under way finish, and its connection go`() async throws {
        let hasArrived = Gate()
        let mayAnswer = Gate()
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            hasArrived.open()
            while !mayAnswer.isOpen { sched_yield() }
            try connection.send(Self.ok)
            // The client closes; were it to keep the connection, this would fail for want of patience.
            _ = try connection.receiveToEnd()
        } body: { upstream in
            async let outcome = upstream.outcome()
            await hasArrived.pass()
            await upstream.client.closeIdle(on: upstream.loop)
            mayAnswer.open()
            return await outcome
        }
        #expect(outcome == Self.answered)
    }

    @Test func `an idle connection is closed after its time`() async throws {
        let configure: (inout ClientConfiguration) -> Void = { $0.idleDeadline = .milliseconds(50) }
        let isClosed = Gate()
        try await ScriptedUpstream.run(configure: configure) { listener in
            let connection = try listener.accept()
            try connection.answerOne(with: Self.ok)
            _ = try connection.receiveToEnd()
            isClosed.open()
        } body: { upstream in
            #expect(await upstream.outcome() == Self.answered)
            await isClosed.pass()
        }
    }
}

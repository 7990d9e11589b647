import HTTP
import TestSupport
import Testing
import Transport

/// No client has the loop or the connections to itself.
@Suite(.timeLimit(.minutes(1))) struct GreedTests {
    @Test func `who is refused again and again is not read from for a while, and others are answered`() async throws {
        let refusals = Box(0)
        let handler: Server.Handler = { request, context in
            guard request.target.path == "/refused" else { return await echoPath(request, context) }
            refusals.update { $0 += 1 }
            context.noteRefusal()
            return .response(Response(.tooManyRequests))
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.refusalsAtOnceMax = 2
            $0.refusalRest = .seconds(3_600)
        }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let greedy = try server.connect()
            try greedy.send(String(repeating: get("/refused"), count: 500))
            try await onThread {
                for _ in 0..<3 { _ = try greedy.receive(through: "\r\n\r\n") }
                let other = try server.connect()
                try other.send(get("/other", closing: true))
                _ = try other.receiveToEnd()
            }
            #expect(refusals.value == 3)
        }
    }

    @Test func `refused requests are answered one after the other, and the last one says that it is`() async throws {
        let handler: Server.Handler = { request, context in
            context.noteRefusal()
            return await echoPath(request, context)
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.refusalsAtOnceMax = 2
            $0.refusalsMax = 4
            $0.refusalRest = .milliseconds(1)
        }
        let answers = try await RunningServer.run(configure: configure, handler: handler) { server in
            try await server.answer(to: (1...9).map { get("/\($0)") }.joined())
        }
        #expect(transcript(answers) == ["200 /1", "200 /2", "200 /3", "200 /4"])
        #expect(answers.ranges(of: "\r\nconnection: close\r\n").count == 1)
    }

    @Test func `a refusal now and then among other answers delays nothing`() async throws {
        let handler: Server.Handler = { request, context in
            if request.target.path == "/refused" { context.noteRefusal() }
            return await echoPath(request, context)
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.refusalsAtOnceMax = 1
            $0.refusalRest = .seconds(3_600)
        }
        let text = String(repeating: get("/refused") + get("/good"), count: 40) + get("/last", closing: true)
        let answers = try await RunningServer.run(configure: configure, handler: handler) {
            try await $0.answer(to: text)
        }
        #expect(transcript(answers).count == 81)
    }

    @Test func `whoever sends hundreds of requests at once is answered in turn with others`() async throws {
        let begun = Box<[String]>([])
        let handler: Server.Handler = { request, context in
            begun.update { $0.append(request.target.path) }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let (greedy, other) = (try server.connect(), try server.connect())
            try await onThread {
                for client in [greedy, other] {
                    try client.send(get("/"))
                    _ = try client.receive(through: "\r\n\r\n/")
                }
            }
            // On the server's own loop: it gets both in one turn.
            try await server.loop.task {
                try greedy.send(String(repeating: get("/many"), count: 600))
                try other.send(get("/one", closing: true))
                greedy.finishWriting()
            }.value
            try await onThread {
                _ = try other.receiveToEnd()
                _ = try greedy.receiveToEnd()
            }
            #expect(begun.value.count { $0 == "/many" } == 600)
            #expect(try #require(begun.value.firstIndex(of: "/one")) < 400)
        }
    }

    @Test func `where idle connections have all places, those of whoever has most make room for newcomers`()
        async throws
    {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.connectionsMax = 12 }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            try await onThread {
                func arrive(from host: UInt8) throws -> RawConnection {
                    let client = try server.connect(from: host)
                    try client.send(get("/"))
                    _ = try client.receive(through: "\r\n\r\n/")
                    return client
                }
                let modest = try (0..<3).map { _ in try arrive(from: 3) }
                let greedy = try (0..<9).map { _ in try arrive(from: 2) }
                let newcomer = try arrive(from: 4)
                // Who has been idle for longest goes, and half of a crowd stays.
                for client in greedy.prefix(4) { #expect(try client.receiveToEnd().isEmpty) }
                for client in modest + greedy.dropFirst(4) + [newcomer] {
                    try client.send(get("/again"))
                    _ = try client.receive(through: "\r\n\r\n/again")
                }
            }
        }
    }
}

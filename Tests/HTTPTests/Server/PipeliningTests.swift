import HTTP
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct PipeliningTests {
    @Test func `requests that arrive together are answered in order`() async throws {
        let paths = (0..<2000).map { "/\($0)" }
        let text = paths.map { get($0) }.joined() + get("/last", closing: true)
        let answers = try await RunningServer.run(handler: echoPath) { try await $0.answer(to: text) }
        #expect(transcript(answers) == (paths + ["/last"]).map { "200 \($0)" })
    }

    @Test func `answers that wait for nothing come in order, too, between others that do`() async throws {
        let dispatcher: Server.Dispatcher = { request, context in
            request.target.path.hasSuffix("0")
                ? .work { await echoPath(request, context) }
                : .reply(.response(Response(.ok, body: Array(request.target.path.utf8))))
        }
        let paths = (1...2000).map { "/\($0)" }
        let text = paths.map { get($0) }.joined() + get("/last", closing: true)
        let answers = try await RunningServer.run(dispatcher: dispatcher) { try await $0.answer(to: text) }
        #expect(transcript(answers) == (paths + ["/last"]).map { "200 \($0)" })
    }

    @Test func `a request is begun when the one before is answered, not earlier`() async throws {
        let begun = Box<[String]>([])
        let gate = Gate()
        let handler: Server.Handler = { request, context in
            begun.update { $0.append(request.target.path) }
            if request.target.path == "/slow" { await gate.pass() }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/slow") + get("/fast") + get("/slow"))
            try await onThread {
                // Another connection is not held up, and by its answer the first one has been read.
                let other = try server.connect()
                try other.send(get("/other", closing: true))
                _ = try other.receiveToEnd()
            }
            #expect(begun.value.filter { $0 != "/other" } == ["/slow"])
            gate.open()
            try client.send(get("/last", closing: true))
            let answers = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answers) == ["200 /slow", "200 /fast", "200 /slow", "200 /last"])
        }
    }

    @Test func `requests are answered in order when every handler waits`() async throws {
        let paths = (0..<300).map { "/\($0)" }
        let handler: Server.Handler = { request, context in
            await Task.yield()
            return await echoPath(request, context)
        }
        let text = paths.map { get($0) }.joined() + get("/last", closing: true)
        let answers = try await RunningServer.run(handler: handler) { try await $0.answer(to: text) }
        #expect(transcript(answers) == (paths + ["/last"]).map { "200 \($0)" })
    }

    @Test(arguments: [false, true])
    func `a good request followed by nonsense is answered, and then the nonsense`(_ handlerWaits: Bool) async throws {
        let handler: Server.Handler = { request, context in
            if handlerWaits { await Task.yield() }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let answers = try await server.answer(to: get("/good") + "NON SENSE\r\n\r\n" + get("/unread"))
            let lines = transcript(answers)
            #expect(lines.count == 2)
            #expect(lines.first == "200 /good")
            #expect(lines.last?.hasPrefix("400 ") == true)
        }
    }

    @Test func `what comes behind a request that closes is not answered`() async throws {
        let answers = try await RunningServer.run(handler: echoPath) {
            try await $0.answer(to: get("/one", closing: true) + get("/two"))
        }
        #expect(transcript(answers) == ["200 /one"])
    }

    @Test(arguments: [false, true])
    func `a client that has finished sending gets every answer`(_ handlerWaits: Bool) async throws {
        let handler: Server.Handler = { request, context in
            if handlerWaits { await Task.yield() }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/one") + get("/two") + get("/three"))
            client.finishWriting()
            let answers = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answers) == ["200 /one", "200 /two", "200 /three"])
        }
    }

    @Test func `a body that waits for leave gets it, and the answer after it`() async throws {
        let handler: Server.Handler = { request, _ in .response(Response(.ok, body: request.body)) }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            let interim = try await onThread { try client.receive(through: "\r\n\r\n") }
            #expect(interim == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send("hi" + get("/", closing: true))
            let answers = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answers) == ["200 hi", "200 "])
        }
    }

    @Test func `a handler may have bytes sent as they are, or nothing`() async throws {
        let handler: Server.Handler = { request, _ in
            .raw(request.target.path == "/none" ? [] : Array("HTTP/1.1 2".utf8))
        }
        try await RunningServer.run(handler: handler) { server in
            let cut = try await server.answer(to: get("/") + get("/"))
            #expect(cut == "HTTP/1.1 2")
            let nothing = try await server.answer(to: get("/none"))
            #expect(nothing.isEmpty)
        }
    }
}

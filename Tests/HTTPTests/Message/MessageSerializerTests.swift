import HTTP
import Testing

struct MessageSerializerTests {
    @Test func `a response is its status, its fields and its body`() {
        let response = Response(
            .created, headers: ["content-type": "text/plain", "x-empty": ""], body: bytes("\u{0}é"))
        #expect(
            written(response, date: "Sun, 06 Nov 1994 08:49:37 GMT")
                == """
                HTTP/1.1 201 Created\r
                date: Sun, 06 Nov 1994 08:49:37 GMT\r
                content-length: 2\r
                content-type: text/plain\r
                x-empty: \r
                \r
                \u{0}é
                """)
    }

    @Test func `a response stands behind what was there already`() {
        var out = bytes("before")
        MessageSerializer.append(Response(.ok), answering: .get, to: &out)
        MessageSerializer.append(Response(.notFound), answering: .get, to: &out)
        let two = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        #expect(text(out) == "before" + two)
    }

    @Test func `a code without a phrase keeps the space before it`() {
        #expect(written(Response(Status(599))) == "HTTP/1.1 599 \r\ncontent-length: 0\r\n\r\n")
    }

    @Test(arguments: [
        (Method.get, 200, "content-length: 2\r\n\r\nab"), (.head, 200, "content-length: 2\r\n\r\n"),
        (.get, 204, "\r\n"),
        (.head, 204, "\r\n"), (.get, 304, "\r\n"), (.post, 404, "content-length: 2\r\n\r\nab"),
    ])
    func `a response that has no body sends none`(method: Method, code: Int, rest: String) {
        let message = written(Response(Status(code), body: bytes("ab")), answering: method)
        #expect(message == "HTTP/1.1 \(Status(code))\r\n\(rest)")
    }

    @Test(arguments: [
        (MessageSerializer.ConnectionOption.unstated, ""), (.close, "connection: close\r\n"),
        (.keepAlive, "connection: keep-alive\r\n"),
    ])
    func `the connection is spoken of when it must be`(option: MessageSerializer.ConnectionOption, line: String) {
        #expect(written(Response(.ok), connection: option) == "HTTP/1.1 200 OK\r\n\(line)content-length: 0\r\n\r\n")
        var out: [UInt8] = []
        MessageSerializer.append(Request(.get, "/"), host: "a", connection: option, to: &out)
        #expect(text(out) == "GET / HTTP/1.1\r\nhost: a\r\n\(line)\r\n")
    }

    @Test func `what frames a message is never said twice`() {
        let fields: Headers = [
            "content-length": "9", "x": "1", "transfer-encoding": "chunked", "connection": "upgrade", "date": "never",
            "host": "b",
        ]
        #expect(
            written(Response(.ok, headers: fields), date: "now")
                == "HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 0\r\nx: 1\r\nhost: b\r\n\r\n")
        var out: [UInt8] = []
        MessageSerializer.append(Request(.get, "/", headers: fields), host: "a:81", to: &out)
        #expect(text(out) == "GET / HTTP/1.1\r\nhost: a:81\r\nx: 1\r\ndate: never\r\n\r\n")
    }

    @Test(arguments: [
        (Method.get, "", ""), (.delete, "", ""), (.get, "a", "content-length: 1\r\n"),
        (.post, "", "content-length: 0\r\n"),
        (.put, "", "content-length: 0\r\n"), (.patch, "abc", "content-length: 3\r\n"),
    ])
    func `a request tells the length of a body, and of one that is expected`(method: Method, body: String, line: String)
    {
        var out: [UInt8] = []
        MessageSerializer.append(Request(method, "/a?b=c", body: bytes(body)), host: "a", to: &out)
        #expect(text(out) == "\(method) /a?b=c HTTP/1.1\r\nhost: a\r\n\(line)\r\n\(body)")
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 65_535, 1_048_576])
    func `what is written can be read again`(length: Int) throws {
        let body = [UInt8](repeating: 0x0A, count: length)
        let fields: Headers = ["x-one": "1", "x-two": "\t2 ü", "x-one": "3"]
        var out: [UInt8] = []
        MessageSerializer.append(Request(.post, "/a/b?c", headers: fields, body: body), host: "[::1]:8080", to: &out)
        MessageSerializer.append(Response(.accepted, headers: fields, body: body), answering: .post, to: &out)
        var limits = MessageLimits()
        limits.bodyBytesMax = length
        try out.withUnsafeBytes { bytes in
            var input = bytes
            var requests = RequestParser(limits: limits)
            var responses = ResponseParser(requestMethod: .post, limits: limits)
            guard case .request(let request, true) = try requests.next(from: &input),
                case .response(let response, true) = try responses.next(from: &input)
            else { throw NoRequest() }
            #expect(request.target == "/a/b?c")
            #expect(request.headers["host"] == "[::1]:8080")
            #expect(request.body == body)
            #expect(response.status == .accepted)
            #expect(response.body == body)
            for headers in [request.headers, response.headers] {
                #expect(headers.values("x-one") == ["1", "3"])
                #expect(headers["x-two"] == "2 ü")
            }
            #expect(input.isEmpty)
        }
    }

    @Test func `received fields can be sent on`() throws {
        let head = "GET http://b/ HTTP/1.1\r\nHost: a\r\nX:  y \r\n"
        let response = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nHost: b\r\nX: y\r\n\r\n"
        #expect(try written(Response(.ok, headers: request(head + "\r\n").headers)) == response)
        #expect(try written(Response(.ok, headers: request(head + "Connection: close\r\n\r\n").headers)) == response)
    }
}

private func written(
    _ response: Response, answering method: Method = .get, date: String = "",
    connection: MessageSerializer.ConnectionOption = .unstated
) -> String {
    var out: [UInt8] = []
    MessageSerializer.append(response, answering: method, date: bytes(date), connection: connection, to: &out)
    return text(out)
}

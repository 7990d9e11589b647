import Belvo
import HTTP
import Testing

/// Answers that are no success are read as far as they can be (belvo-api.md §1.1).
struct ErrorResponseTests {
    typealias Item = ErrorResponse.Item

    @Test(
        arguments: [
            ("", []),
            ("<html><body>403 Forbidden</body></html>", []),
            ("[", []),
            ("\u{FEFF}[]", []),
            ("[]", []),
            ("[null]", []),
            ("{}", []),
            ("null", []),
            (#"[{"code":null,"message":null,"field":null}]"#, []),
            (#"[{"request_id":"4f2"}]"#, []),
            (String(repeating: " ", count: 65_537) + #"[{"code":"a"}]"#, []),
            (
                #"[{"request_id":"4f2","message":"This field is required.","code":"required","field":"amount"}]"#,
                [Item(code: "required", message: "This field is required.", field: "amount")]
            ),
            (
                #"[{"code":"a"},{"code":"b","message":"B"}]"#,
                [Item(code: "a", message: nil, field: nil), Item(code: "b", message: "B", field: nil)]
            ),
            (
                #"{"code":"access_to_resource_denied","message":"No.","request_id":"4f2"}"#,
                [Item(code: "access_to_resource_denied", message: "No.", field: nil)]
            ),
            (#"{"detail":"Not found."}"#, [Item(code: nil, message: "Not found.", field: nil)]),
            (#"[{"detail":["Not found."]}]"#, [Item(code: nil, message: "Not found.", field: nil)]),
            (
                #"{"detail":"Given token not valid","code":"token_not_valid","messages":[]}"#,
                [Item(code: "token_not_valid", message: "Given token not valid", field: nil)]
            ),
            (#""just a text""#, [Item(code: nil, message: "just a text", field: nil)]),
            (
                #"["one","two"]"#,
                [Item(code: nil, message: "one", field: nil), Item(code: nil, message: "two", field: nil)]
            ),
            // A message is of any kind of JSON.
            (#"[{"message":7.50}]"#, [Item(code: nil, message: "7.50", field: nil)]),
            (#"[{"message":{"a":[1]}}]"#, [Item(code: nil, message: #"{"a":[1]}"#, field: nil)]),
            (#"[{"message":["a","b"]}]"#, [Item(code: nil, message: #"["a","b"]"#, field: nil)]),
            (#"[{"message":true,"code":12}]"#, [Item(code: "12", message: "true", field: nil)]),
            // A map from fields to messages.
            (
                #"{"amount":["A valid number is required."],"customer":["Unknown.","Gone."]}"#,
                [
                    Item(code: nil, message: "A valid number is required.", field: "amount"),
                    Item(code: nil, message: #"["Unknown.","Gone."]"#, field: "customer"),
                ]
            ),
            // Nothing that could forge a line of a log or turn the direction of writing.
            (
                #"[{"message":"a\r\nb\u001b[31m\u202ec\u2028d","code":"x\u0007y"}]"#,
                [Item(code: "xy", message: "a  b[31mc d", field: nil)]
            ),
        ] as [(String, [Item])]
    )
    func `an error body of any shape is read as far as it goes`(body: String, items: [Item]) async throws {
        #expect(try await ErrorResponseTests.refusal(reply(400, body)).items == items)
    }

    @Test(arguments: [
        #"[{"code":"a"},{"request_id":"4f2"}]"#, #"{"request_id":"4f2"}"#, #"{"detail":"x","request_id":"4f2"}"#,
    ])
    func `Belvo's request id is found wherever it stands`(body: String) async throws {
        #expect(try await ErrorResponseTests.refusal(reply(400, body)).requestID == "4f2")
    }

    @Test func `a body of any size leaves little behind`() async throws {
        let long = String(repeating: "x", count: 3000)
        let hexadecimal = String(repeating: "4f", count: 1500)
        let item = #"{"code":"\#(long)","message":"\#(long)","field":"\#(long)","request_id":"\#(hexadecimal)"}"#
        let many = "[" + String(repeating: #"{"code":"a"},"#, count: 3000) + #"{"code":"b"}]"#
        let refusal = try await ErrorResponseTests.refusal(reply(400, "[\(item)]"))
        // What is too long for a code is none.
        #expect(refusal.items.map { $0.code?.count } == [nil])
        #expect(refusal.items.map { $0.message?.count } == [500])
        #expect(refusal.items.map { $0.field?.count } == [200])
        #expect(refusal.requestID?.count == 100)
        #expect(try await ErrorResponseTests.refusal(reply(400, many)).items.count == 20)
        let fields = (0..<100).map { #""f\#($0)":["x"]"# }.joined(separator: ",")
        #expect(try await ErrorResponseTests.refusal(reply(400, "{\(fields)}")).items.count == 20)
        #expect(try await ErrorResponseTests.refusal(reply(400, "[{\(fields)},{\(fields)}]")).items.count == 20)
    }

    @Test(
        arguments: [
            (400, .content), (401, .credentials), (403, .permission), (404, .notFound), (405, .usage),
            (408, .server), (409, .conflict), (410, .notFound), (415, .usage), (422, .content), (425, .throttled),
            (429, .throttled), (500, .server), (503, .server),
        ] as [(Int, ErrorResponse.Kind)]
    )
    func `a status says whose concern it is`(status: Int, kind: ErrorResponse.Kind) {
        #expect(ErrorResponse(status: status).kind == kind)
    }

    @Test(arguments: [
        (nil, nil, nil), ("0", nil, 0), ("7", nil, 7), ("3600", nil, 3600), ("3601", nil, 3600),
        ("99999999999999999999", nil, 3600), ("-1", nil, nil), ("+1", nil, nil), ("1.5", nil, nil), ("soon", nil, nil),
        ("", nil, nil), ("٣", nil, nil),
        // A date needs the answer's own date beside it.
        ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", 7),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:40 GMT", 0),
        ("Wed, 01 Mar 2028 00:00:10 GMT", "Tue, 29 Feb 2028 23:59:50 GMT", 20),
        ("Fri, 01 Jan 2027 00:00:01 GMT", "Thu, 31 Dec 2026 23:59:59 GMT", 2),
        ("Mon, 01 Jan 9999 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 3600),
        ("Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:30 GMT", nil),
        ("Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", nil),
        ("Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", nil),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", nil),
    ])
    func `how long to wait is read from seconds or a date`(field: String?, date: String?, seconds: Int?) async throws {
        var headers = Headers()
        if let field { headers.append("retry-after", field) }
        if let date { headers.append("date", date) }
        let refusal = try await ErrorResponseTests.refusal(reply(429, headers: headers))
        #expect(refusal.retryAfter == seconds.map { .seconds($0) })
    }

    @Test func `printing an error shows no message of Belvo's, which may repeat what a person typed`() async throws {
        let body = #"[{"message":"23100299900 is no CPF","code":"invalid","field":"identifier","request_id":"4f2"}]"#
        let refusal = try await ErrorResponseTests.refusal(reply(400, body))
        #expect("\(refusal)" == "status 400, identifier: invalid, request_id 4f2")
        #expect(!"\(BelvoError.refused(refusal))".contains("23100299900"))
        #expect(!"\(BelvoError.unanswered(.failed(refusal)))".contains("23100299900"))
        #expect(!String(reflecting: BelvoError.refused(refusal)).contains("23100299900"))
        #expect(!"\(refusal.items)".contains("23100299900"))
    }

    /// The error response in the error of a refused reading, whichever way it is sorted.
    private static func refusal(_ answer: Result<Response, any Error>) async throws -> ErrorResponse {
        let client = try Upstream(answer).client()
        let error = try await #require(throws: BelvoError.self) {
            try await client.readCustomer(Sample.id(Sample.customer))
        }
        switch error {
        case .refused(let refusal), .throttled(let refusal): return refusal
        default: throw error
        }
    }
}

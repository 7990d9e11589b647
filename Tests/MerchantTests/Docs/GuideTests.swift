import BelvoSandbox
import Testing

/// Every example of every document is what the server really answers.
@Suite struct GuideTests {
    @Test(arguments: Guide.paths)
    func `a document's examples work in their order, and answer what is shown`(path: String) async throws {
        let guide = try Guide(path: path)
        guard !guide.steps.isEmpty else { return }
        var configuration = SandboxConfiguration.test()
        if path == "README.md" {
            // As ./dev run starts it.
            configuration.publicURL = "http://127.0.0.1:8081"
            configuration.relyingParty = "localhost"
        }
        try await TestHarness.open(sandbox: configuration) { harness in
            var player = try GuidePlayer(guide, on: harness)
            for fault in try await player.play() { Issue.record("\(fault)") }
        }
    }

    @Test func `the documents that lead through the flow have examples`() throws {
        for path in ["README.md", "docs/apps.md"] {
            #expect(Guide.paths.contains(path))
            #expect(try Guide(path: path).steps.count > 10, "\(path)")
        }
    }

    @Test(arguments: [
        ("a kind of example that nobody plays", ["```json", "{}", "```"]),
        ("an example without a kind", ["```", "GET /livez", "```"]),
        ("an example that does not end", ["```http", "GET /livez"]),
        ("another status", ["```http", "GET /livez", "", "HTTP/1.1 204 No Content", "```"]),
        ("a header that is missing", ["```http", "GET /livez", "", "HTTP/1.1 200 OK", "Retry-After: 1", "```"]),
        (
            "another header",
            ["```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "Content-Type: text/x", "", "{…}", "```"]
        ),
        ("a member too few", ["```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "", #"{"status": 404}"#, "```"]),
        (
            "a member too many",
            ["```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "", #"{"status": 404, "x": 1, …}"#, "```"]
        ),
        ("another value", ["```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "", #"{"status": 405, …}"#, "```"]),
        (
            "a name that stood for something else",
            [
                "```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "", #"{"request_id": "<request>", …}"#, "```",
                "```http", "GET /v1/x", "", "HTTP/1.1 404 Not Found", "", #"{"request_id": "<request>", …}"#, "```",
            ]
        ),
        (
            "a name that stands for nothing",
            ["```http", "GET /v1/<thing>", "", "HTTP/1.1 404 Not Found", "", "…", "```"]
        ),
        ("an event that cannot happen", ["<!-- meanwhile: pigs fly -->"]),
        ("other output", ["```console", "$ echo one", "two", "```"]),
        ("an address that is not the demo's", ["```console", "$ curl -s http://127.0.0.1:1/livez || echo no", "```"]),
        ("Swift that is in no example", ["```swift", "let voyage = Voyage()", "```"]),
        ("JavaScript that is in no page", ["```javascript", "const trip = voyage();", "```"]),
    ])
    func `a document that is wrong is told so, with the line`(fault: String, lines: [String]) async throws {
        try await TestHarness.open { harness in
            var player = try GuidePlayer(Guide(path: "wrong.md", lines: lines), on: harness)
            let faults = try await player.play()
            #expect(faults.count == 1, "\(fault): \(faults)")
            #expect(faults.first?.hasPrefix("wrong.md:") == true)
        }
    }

    @Test func `what differs from run to run may differ in what a command prints, and nothing else`() throws {
        let shown = [#"{"id":"01a1fca6-cc9c-…","day":"2026-11-21","at":"2026-11-21T05:49:12.220908Z","n":1}"#]
        let same =
            #"{"id":"0abcdef0-1111-7222-8333-444444444444","day":"2027-01-02","at":"2027-01-02T00:00:00.1Z","n":1}"#
        #expect(try Console.isAsShown(shown, same[...]))
        #expect(try !Console.isAsShown(shown, same.replacing(#""n":1"#, with: #""n":2"#)[...]))
        #expect(try !Console.isAsShown(shown, same.replacing("2027-01-02\"", with: "today\"")[...]))
    }
}

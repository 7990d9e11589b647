import Belvo
import HTTP
import Synchronization
import Testing

/// Belvo's side of a test: what it answers, in order, and what it was asked.
///
/// A request beyond the answers prepared is a failure of the test: nothing may be sent twice.
final class Upstream: Sendable {
    private struct State {
        var answers: [Result<Response, any Error>]
        var requests: [Request] = []
        var timeouts: [Duration] = []
    }

    private let state: Mutex<State>
    let clock = ManualClock()
    /// By how much each answer moves the clock on.
    private let answerTakes: Duration

    convenience init(_ answers: Result<Response, any Error>..., answerTakes: Duration = .zero) {
        self.init(answers: answers, answerTakes: answerTakes)
    }

    init(answers: [Result<Response, any Error>], answerTakes: Duration = .zero) {
        state = Mutex(State(answers: answers))
        self.answerTakes = answerTakes
    }

    /// A client whose every request ends here.
    func client(_ adjust: (inout Configuration) -> Void = { _ in }) throws -> Belvo.Client {
        let origin = try #require(URL("https://api.belvo.example/")?.origin)
        let credentials = try #require(Credentials(secretID: "secret-id", secretPassword: "secret-password"))
        var configuration = Configuration(origin: origin, credentials: credentials)
        adjust(&configuration)
        return Client(configuration: configuration, clock: clock) { request, timeout in
            try self.answer(request, timeout)
        }
    }

    var requests: [Request] { state.withLock(\.requests) }
    var timeouts: [Duration] { state.withLock(\.timeouts) }

    /// The only request, as it would be read on paper: request line, fields, blank line, body.
    func transcript() throws -> String {
        let requests = requests
        try #require(requests.count == 1)
        return Upstream.transcript(requests[0])
    }

    static func transcript(_ request: Request) -> String {
        var lines = ["\(request.method) \(request.target)"]
        func field(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
            lines.append("\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))")
        }
        request.headers.forEach(field)
        if !request.body.isEmpty { lines += ["", String(decoding: request.body, as: UTF8.self)] }
        return lines.joined(separator: "\n")
    }

    private func answer(_ request: Request, _ timeout: Duration) throws -> Response {
        clock.advance(by: answerTakes)
        let answer = state.withLock { state -> Result<Response, any Error>? in
            state.requests.append(request)
            state.timeouts.append(timeout)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let answer else {
            Issue.record("unexpected request: \(request.method) \(request.target)")
            throw ClientError.notSent(reason: "no answer prepared")
        }
        return try answer.get()
    }
}

/// An answer with a JSON body.
func reply(_ status: Int, _ body: String = "", headers: Headers = Headers()) -> Result<Response, any Error> {
    .success(Response(Status(status), headers: headers, body: Array(body.utf8)))
}

/// A clock that stands until it is moved.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let offset = Mutex(Duration.zero)

    var now: Instant { Instant(offset: offset.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func advance(by duration: Duration) { offset.withLock { $0 += duration } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        Issue.record("nothing here may sleep")
    }
}

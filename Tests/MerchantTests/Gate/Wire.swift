import Belvo
import HTTP
import MerchantModel
import Payments
import Synchronization
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Calls that have left, in their order, each until the test answers it.
final class Wire: Sendable {
    private struct State {
        var left: [String] = []
        var open: [CheckedContinuation<Response, any Error>] = []
        var answersAll = false
    }
    private let state = Mutex(State())

    @Sendable func send(_ request: Request, _ timeout: Duration) async throws -> Response {
        try await withCheckedThrowingContinuation { continuation in
            let answersAll = state.withLock { state in
                state.left.append(request.target.path)
                if !state.answersAll { state.open.append(continuation) }
                return state.answersAll
            }
            if answersAll { continuation.resume(returning: Self.answer) }
        }
    }

    var left: [String] { state.withLock { $0.left } }

    /// Lets the calls of the present loop go as far as they can, and fails unless so many have left in all.
    func hasLeft(_ count: Int) async throws {
        await EventLoop.current?.comeToRest()
        try #require(left.count >= count, "calls wait for turns that nobody has")
    }

    /// Answers the call that has waited longest.
    func answer() {
        let first = state.withLock { $0.open.isEmpty ? nil : $0.open.removeFirst() }
        guard let first else {
            Issue.record("no call has left that could be answered")
            return
        }
        first.resume(returning: Self.answer)
    }

    /// Answers all that wait and all that follow, so that a test that has failed comes to its end.
    func answerAll() {
        let open = state.withLock { state in
            state.answersAll = true
            defer { state.open = [] }
            return state.open
        }
        for continuation in open { continuation.resume(returning: Self.answer) }
    }

    private static let answer = Response(.ok, body: Array("{}".utf8))
}

extension BelvoGate {
    /// The same wire for each caller.
    func carriers(by send: @escaping @Sendable (Request, Duration) async throws -> Response) -> PerCaller<Carrier> {
        PerCaller(
            person: carry(for: .person, by: send), background: carry(for: .background, by: send),
            stranger: carry(for: .person, by: send))
    }

    typealias Carrier = @Sendable (_ call: Call, _ request: Request, _ timeout: Duration) async throws -> Response

    /// A gate at which calls wait for longer than any test takes, and at which no call is late unless the test has a
    /// clock.
    static func patient(
        userRate: Int = 0, callsMax: Int, now: (@Sendable () -> Monotonic)? = nil
    ) -> BelvoGate {
        let start = Monotonic.now()
        let now = now ?? { start }
        return BelvoGate(
            rate: 0, userRate: userRate, callsMax: callsMax,
            turnWaitMax: PerCaller(person: .seconds(3600), background: .seconds(3600), stranger: .seconds(3600)),
            log: LogRecorder().logger, now: now, random: { 0 })
    }
}

/// A call to Belvo by which tests tell one from the other.
func request(_ path: String) -> Request { Request(.get, Target(path: path)) }

/// The origin of calls for the user of this name.
func user(_ name: String) throws -> CallOrigin { .user(try UserSubject(name)) }

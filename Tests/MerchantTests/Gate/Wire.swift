import Belvo
import HTTP
import Synchronization
import Transport

@testable import BelvoGate

/// Calls that have left, in their order, each until the test answers it.
final class Wire: Sendable {
    private struct State {
        var left: [String] = []
        var open: [CheckedContinuation<Response, any Error>] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    @Sendable func send(_ request: Request, _ timeout: Duration) async throws -> Response {
        try await withCheckedThrowingContinuation { continuation in
            let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.left.append(request.target.path)
                state.open.append(continuation)
                let count = state.left.count
                let ready = state.waiting.filter { $0.count <= count }.map(\.continuation)
                state.waiting.removeAll { $0.count <= count }
                return ready
            }
            for continuation in ready { continuation.resume() }
        }
    }

    var left: [String] { state.withLock { $0.left } }

    /// Returns as soon as so many calls have left in all.
    func hasLeft(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.left.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Answers the call that has waited longest.
    func answer(_ result: Result<Response, any Error> = .success(Response(.ok, body: Array("{}".utf8)))) {
        state.withLock { $0.open.removeFirst() }.resume(with: result)
    }
}

extension BelvoGate {
    /// The same wire for each caller.
    func carriers(by send: @escaping @Sendable (Request, Duration) async throws -> Response) -> PerCaller<Carrier> {
        PerCaller(
            person: carry(for: .person, by: send), background: carry(for: .background, by: send),
            stranger: carry(for: .person, by: send))
    }

    typealias Carrier = @Sendable (_ call: Call, _ request: Request, _ timeout: Duration) async throws -> Response
}

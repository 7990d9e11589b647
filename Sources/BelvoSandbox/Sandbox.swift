import HTTP
import JSON
import Synchronization

/// A stand-in for Belvo Payments (Brazil) with Biometric Pix, and for the bank behind it.
///
/// It is an independent reading of Belvo's documents: it shares nothing with the client that it answers.
/// All state is in memory. `respond(to:)` is the whole of it over HTTP; the other methods move it from tests
/// in the same process. `run()` sends webhooks and does what is due while no call comes in.
public final class Sandbox: Sendable {
    /// The configuration it was made of; `variants` may have changed since.
    public let configuration: SandboxConfiguration
    private let state: Mutex<SandboxState>
    let wakeUp = WakeUp()
    let listeners = Arrivals()

    public init(configuration: SandboxConfiguration = SandboxConfiguration()) {
        self.configuration = configuration
        state = Mutex(SandboxState(configuration))
    }

    /// Answers one request: Belvo's API, the bank's page below `/bank/`, the control API below `/sandbox/`.
    public func respond(to request: Request) async -> SandboxAnswer {
        let path = request.target.path
        // Whatever was done may have made webhooks, or brought the next due moment forward.
        defer { wakeUp.signal() }
        if path.hasPrefix("/sandbox/") { return SandboxAnswer(await control(request)) }
        if path.hasPrefix("/bank/") { return SandboxAnswer(withState { $0.bank(request) }) }
        switch Route(request.method, path: path) {
        case .endpoint(let endpoint, let ids): return await respond(to: request, endpoint, ids)
        case .methodNotAllowed(let allowed): return refuse(request, .methodNotAllowed(allowed))
        case .missingSlash: return refuse(request, missingSlash(request))
        case .unknown: return refuse(request, .notFound)
        }
    }

    /// Reads the state, or changes it, while no other task does.
    func withState<Result: Sendable>(_ body: (inout SandboxState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// A call with the fault that is planned for it, if any.
    private func respond(to request: Request, _ endpoint: Endpoint, _ ids: [String]) async -> SandboxAnswer {
        let (number, fault) = withState { state in
            let fault = state.faults.take(for: endpoint)
            return (state.begin(request, endpoint, fault: fault), fault)
        }
        if let answer = fault?.answerInstead {
            withState { $0.calls.change(number) { $0.status = answer.response.status.code } }
            tell(number)
            return answer
        }
        // A cancelled wait means that the caller is gone, so the call goes on at once.
        if case .delayRequest(let span) = fault { try? await configuration.sleep(span) }
        let response = withState { $0.process(number, request, endpoint, ids) }
        wakeUp.signal()
        tell(number)
        if case .delayAnswer(let span) = fault { try? await configuration.sleep(span) }
        return fault?.spoil(response) ?? SandboxAnswer(response)
    }

    private func tell(_ number: Int) {
        if let call = withState({ $0.calls[number] }) { listeners.tell(call) }
    }

    private func refuse(_ request: Request, _ refusal: Refusal) -> SandboxAnswer {
        let response = withState { state in
            let number = state.begin(request, nil, fault: nil)
            state.calls.change(number) { $0.status = refusal.status.code }
            return state.refuse(refusal)
        }
        return SandboxAnswer(response)
    }

    /// Django knows no such path, or redirects to the one with the slash.
    private func missingSlash(_ request: Request) -> Refusal {
        guard withState({ $0.variants.missingSlash }) == .redirected else { return .notFound }
        let query = request.target.query.map { "?\($0)" } ?? ""
        return Refusal(
            status: Status(301), items: [], headers: Headers(["location": "\(request.target.path)/\(query)"]))
    }
}

extension SandboxState {
    /// Notes a call in the log.
    mutating func begin(_ request: Request, _ endpoint: Endpoint?, fault: Fault?) -> Int {
        // The log reads only one name; what is malformed is refused elsewhere.
        let body = try? JSONDocument(parsing: request.body).root
        let query = try? FormFields(parsing: request.target.query ?? "")
        let record = CallRecord(
            at: now, method: request.method.rawValue, path: request.target.path, endpoint: endpoint,
            externalID: body?["external_id"]?.string ?? query?["external_id"],
            idempotencyKey: request.headers["belvo-idempotency-key"], fault: fault?.name)
        return calls.begin(record, max: configuration.callsMax)
    }

    /// Works on a call that the log knows.
    mutating func process(_ number: Int, _ request: Request, _ endpoint: Endpoint, _ ids: [String]) -> Response {
        calls.change(number) { $0.isBeingProcessed = true }
        let response = process(request, endpoint: endpoint, ids: ids)
        calls.change(number) {
            $0.isBeingProcessed = false
            $0.isProcessed = true
            $0.status = response.status.code
        }
        return response
    }
}

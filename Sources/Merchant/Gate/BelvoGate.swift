import Belvo
import HTTP
import Logging
import Synchronization
import Transport

/// What every call to Belvo passes, one for the whole process: it keeps to the budget, notices when Belvo is away or
/// does not let us in, and then keeps calls here instead of adding to the trouble.
///
/// A call that is kept here throws `HeldBack`: nothing left this machine, so its record stays clean and the app is
/// told when to come again. Only the calls of a lock-out are answered in Belvo's place, with the status that Belvo
/// gave the last one. Nothing here looks at what a call is about or repeats one.
final class BelvoGate: Sendable {
    /// How long a call may wait for its turn, and at most half of its own time. A person would rather be told to come
    /// again; a look that comes late is better than one more claim of the same record.
    static let turnWaitMax = PerCaller(person: Duration.seconds(2), background: .seconds(5))
    /// How many calls of each kind may stand in line.
    static let lineMax = 512

    private struct State {
        var budget: Budget
        var standing = Standing()
        var lines = PerCaller(person: TurnLine(), background: TurnLine())
        var isTimerSet = false
        var counts: [GateSnapshot.Key: Int] = [:]
    }

    private let state: Mutex<State>
    /// How long Belvo took to answer, for each call by itself.
    private let latencies: [Call: LatencyHistogram]
    private let log: Logger
    private let now: @Sendable () -> Monotonic
    private let random: @Sendable () -> Double

    /// - Parameter rate: calls a second; 0 is no limit.
    /// - Parameter callsMax: calls under way at a time.
    /// - Parameter random: a number from 0 to 1, for jitter.
    init(
        rate: Int, callsMax: Int, log: Logger, now: @escaping @Sendable () -> Monotonic = Monotonic.now,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        state = Mutex(State(budget: Budget(rate: rate, callsMax: callsMax)))
        latencies = Dictionary(uniqueKeysWithValues: Call.allCases.map { ($0, LatencyHistogram()) })
        self.log = log
        self.now = now
        self.random = random
    }

    /// The function that carries a client's calls through this gate.
    func carry(for caller: Caller, by send: @escaping Belvo.Client.Send) -> Belvo.Client.Carry {
        { call, request, timeout in try await self.carry(call, request, within: timeout, for: caller, by: send) }
    }

    /// How things stand.
    var snapshot: GateSnapshot {
        let now = now()
        return state.withLock { state in
            GateSnapshot(
                counts: state.counts, circuit: state.standing.circuit.state(at: now),
                openings: state.standing.circuit.openings, underWay: state.budget.underWay,
                waiting: PerCaller(person: state.lines.person.count, background: state.lines.background.count),
                denials: state.standing.lockOut.denials, isLockedOut: state.standing.lockOut.isOn,
                quiet: state.standing.quiet.rest(at: now), latencies: latencies.mapValues(\.reading))
        }
    }

    /// Whether looks would for the greater part be kept here now.
    var isShut: Bool {
        let now = now()
        return state.withLock { $0.standing.isShut(at: now) }
    }

    private func carry(
        _ call: Call, _ request: Request, within timeout: Duration, for caller: Caller, by send: Belvo.Client.Send
    ) async throws -> Response {
        let start = Monotonic.now()
        let hasTurn = state.withLock { state in
            // Nobody overtakes those of the same kind that wait.
            state.lines[caller].isEmpty && state.budget.take(for: caller, at: now())
        }
        if !hasTurn {
            let wait = min(Self.turnWaitMax[caller], timeout / 2)
            guard await turn(for: caller, within: wait) else {
                count(call, .heldBack)
                throw HeldBack(reason: "the budget of calls is used up", retryAfter: .seconds(1))
            }
        }
        let isProbe: Bool
        switch enter(call, caller) {
        case .go(let probe): isProbe = probe
        case .heldBack(let error):
            pass()
            throw error
        case .lockedOut(let status):
            pass()
            return Response(HTTP.Status(status))
        }
        let departure = Monotonic.now()
        let verdict: Verdict
        let result: Result<Response, any Error>
        do {
            let response = try await send(request, timeout - (Monotonic.now() - start))
            verdict = Verdict(response)
            result = .success(response)
        } catch {
            verdict = Verdict(error)
            result = .failure(error)
        }
        latencies[call]?.record(nanoseconds: UInt64(max(0, (Monotonic.now() - departure).wholeNanoseconds)))
        leave(call, request, caller, verdict, isProbe: isProbe)
        pass()
        return try result.get()
    }
}

// Coming in and going out.
extension BelvoGate {
    /// The last question before a call leaves, with its turn taken.
    private func enter(_ call: Call, _ caller: Caller) -> Standing.Entry {
        let now = now()
        return state.withLock { state in
            let entry = state.standing.enter(call, caller, at: now)
            if case .go = entry { return entry }
            state.budget.giveBack(caller)
            state.counts[GateSnapshot.Key(call: call, outcome: .heldBack), default: 0] += 1
            return entry
        }
    }

    /// Learns from how a call ended.
    private func leave(_ call: Call, _ request: Request, _ caller: Caller, _ verdict: Verdict, isProbe: Bool) {
        let now = now()
        let events = state.withLock { state in
            state.budget.finish(caller)
            state.counts[GateSnapshot.Key(call: call, outcome: verdict.outcome), default: 0] += 1
            return state.standing.learn(
                from: verdict, call, target: request.target, isProbe: isProbe, at: now, jitter: random)
        }
        for event in events { tell(event, call) }
    }

    private func count(_ call: Call, _ outcome: Verdict.Outcome) {
        state.withLock { $0.counts[GateSnapshot.Key(call: call, outcome: outcome), default: 0] += 1 }
    }

    /// One line for each change, however many calls notice it.
    private func tell(_ event: Standing.Event, _ call: Call) {
        switch event {
        case .circuit(.opened(let failures, let calls)):
            log.error("belvo.circuit_opened", metadata: ["failures": "\(failures)", "calls": "\(calls)"])
        case .circuit(.closed(let span)):
            log.info("belvo.circuit_closed", metadata: ["open_ms": "\(span.wholeNanoseconds / 1_000_000)"])
        case .throttled(let span):
            log.warning("belvo.throttled", metadata: ["quiet_ms": "\(span.wholeNanoseconds / 1_000_000)"])
        case .denied(let alarm, let status, let denials):
            log.critical(
                alarm == .credentials ? "belvo.denied" : "belvo.content_forbidden",
                metadata: ["call": "\(call.rawValue)", "status": "\(status)", "denials": "\(denials)"])
        case .admitted(let denials):
            log.notice("belvo.admitted", metadata: ["denials": "\(denials)"])
        }
    }
}

// Waiting for a turn.
extension BelvoGate {
    /// Waits in line; false when the time is over first, or the line is too long.
    private func turn(for caller: Caller, within wait: Duration) async -> Bool {
        guard let loop = EventLoop.current else { preconditionFailure("Belvo is called from an event loop") }
        let timer = LoopBound(Reminder(), on: loop)
        let hasTurn = await withCheckedContinuation { continuation in
            let id = state.withLock { state -> UInt64? in
                guard state.lines[caller].count < Self.lineMax else { return nil }
                return state.lines[caller].join(continuation)
            }
            guard let id else { return continuation.resume(returning: false) }
            timer.value.timer = loop.schedule(after: wait) { [self] in
                state.withLock { $0.lines[caller].remove(id) }?.resume(returning: false)
            }
            pass()
        }
        timer.value.timer?.cancel()
        return hasTurn
    }

    private final class Reminder {
        var timer: LoopTimer?
    }

    /// Gives out the turns that there are, and comes back when the next one is due.
    private func pass() {
        let delay = state.withLock { state -> Duration? in
            guard !(state.lines.person.isEmpty && state.lines.background.isEmpty) else { return nil }
            let now = now()
            while let caller = state.budget.next(waiting: { !state.lines[$0].isEmpty }, at: now) {
                state.lines[caller].removeFirst().resume(returning: true)
            }
            guard !(state.lines.person.isEmpty && state.lines.background.isEmpty), !state.isTimerSet else { return nil }
            // Where it is a place that is missing and not time, whoever leaves one passes it on.
            let delay = state.budget.delay(at: now)
            guard delay > .zero else { return nil }
            state.isTimerSet = true
            return delay
        }
        guard let delay, let loop = EventLoop.current else { return }
        loop.schedule(after: delay) { [self] in
            state.withLock { $0.isTimerSet = false }
            pass()
        }
    }
}

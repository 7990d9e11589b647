import Belvo
import HTTP
import Logging
import MerchantModel
import Synchronization
import Transport

/// The gate that every call to Belvo passes, one for the whole process: it keeps to the limits, notices when Belvo is
/// away or does not let us in, and then keeps calls here instead of adding to the trouble.
///
/// A call that is kept here throws `CallHeldBack`: nothing left this machine, so its record stays clean and the app is
/// told when to ask again. Only the calls of a lock-out are answered in Belvo's place, with the status that Belvo
/// gave the last one. Nothing here reads what a call is about or repeats one.
///
/// No user gets more than a share of the budget, and users who wait have their turns one after the other. Calls for
/// redirects of strangers have a limit, a circuit breaker and a backoff of their own: a client that invents
/// redirects gets Belvo's answers to nonsense, and that must not stop other callers.
package final class BelvoGate: Sendable {
    /// How long a call may wait for its turn, and at most half of its own time. A user is better served by an
    /// early refusal; a poll that comes late is better than one more claim of the same record.
    package static let turnWaitMax = PerCaller(
        person: Duration.seconds(2), background: .seconds(5), stranger: .seconds(2))
    /// How many calls of each kind may stand in line.
    static let lineMax = PerCaller(person: 512, background: 512, stranger: 64)
    /// How many of them may be one user's.
    static let lineOfUserMax = 32

    /// The shortest time after which a stranger's call is worth another try while none gets through.
    private static let pauseOfStrangers = Duration.seconds(5)

    private let state: Mutex<GateState>
    private let turnWaitMax: PerCaller<Duration>
    /// How long Belvo took to answer, for each call by itself.
    private let latencies: [Call: LatencyHistogram]
    private let log: Logger
    /// By what it measures time.
    package let now: @Sendable () -> Monotonic
    /// How long after one call the next one of polls of one user's records may be due, in each poller: so many records
    /// of a few users leave the budget to others; nil is no limit.
    package let workOfUserInterval: Duration?
    /// Users whose polls may wait for a turn; how long workers count as behind after there were more.
    private let usersWaitingMax: Int
    private static let memoryOfLack = Duration.seconds(5)
    private let random: @Sendable () -> Double

    /// - Parameter rate: calls a second; 0 is no limit.
    /// - Parameter userRate: those of one user among them; 0 is no limit.
    /// - Parameter strangerRate: those of all strangers among them; 0 is no limit.
    /// - Parameter callsMax: calls in flight at a time that are not late (`Departures`), and late ones of people.
    ///   Workers may have half as many late ones, and strangers none.
    /// - Parameter random: a number from 0 to 1, for jitter.
    package init(
        rate: Int, userRate: Int = 0, strangerRate: Int = 0, callsMax: Int,
        turnWaitMax: PerCaller<Duration> = BelvoGate.turnWaitMax, log: Logger,
        now: @escaping @Sendable () -> Monotonic = Monotonic.now,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        state = Mutex(
            GateState(
                limiter: CallLimiter(rate: rate, strangerRate: strangerRate, callsMax: callsMax),
                shares: UserShares(rate: userRate, callsMax: callsMax), workShares: WorkShares(callsMax: callsMax),
                sideCalls: SideCalls(callsMax: callsMax),
                institutionShares: InstitutionShares(callsMax: callsMax),
                hangingUsers: HangingUsers(callsMax: callsMax),
                departures: PerCaller(
                    person: Departures(lateMax: callsMax), background: Departures(lateMax: callsMax / 2),
                    stranger: Departures(lateMax: 0))))
        self.turnWaitMax = turnWaitMax
        workOfUserInterval = rate > 0 ? .seconds(1) / max(1, rate / 50) : nil
        usersWaitingMax = rate > 0 ? max(4, rate / 3) : .max
        latencies = Dictionary(uniqueKeysWithValues: Call.allCases.map { ($0, LatencyHistogram()) })
        self.log = log
        self.now = now
        self.random = random
    }

    /// The function that carries a client's calls through this gate. Calls on behalf of a stranger are a stranger's,
    /// whichever caller makes them.
    package func carry(for caller: Caller, by send: @escaping Belvo.Client.Send) -> Belvo.Client.Carry {
        { call, request, timeout in
            let origin = CallOrigin.current
            let actual = origin?.isStranger == true ? Caller.stranger : caller
            // A user's enrollment is read before he pays.
            let isBeforePayment = actual == .person && call == .readEnrollment && origin?.isGoingOn != true
            let isBeginning = (call.kind == .creating || isBeforePayment) && origin?.isContinued != true
            let line =
                switch actual {
                case .person: isBeginning ? CallLines.beginnings : 0
                case .background: origin?.workLine ?? 0
                case .stranger: 0
                }
            let subject = isBeforePayment ? .payments : call.subject
            let place = CallLines.Place(
                line: line, subject: subject, party: origin?.party ?? 0, institution: origin?.institution ?? 0)
            let turn = Turn(caller: actual, place: place, isContinued: origin?.isContinued ?? false)
            return try await self.carry(call, request, within: timeout, for: turn, by: send)
        }
    }

    /// How things stand.
    package var snapshot: GateSnapshot {
        let now = now()
        return state.withLock { state in
            GateSnapshot(
                counts: state.counts, rate: state.limiter.rate(at: now),
                circuit: state.availability.circuit.state(at: now),
                openings: state.availability.circuit.openings, underWay: state.underWay,
                waiting: PerCaller(
                    person: state.lines.person.count, background: state.lines.background.count,
                    stranger: state.lines.stranger.count),
                denials: state.availability.lockout.denials, isLockedOut: state.availability.lockout.isOn,
                quiet: state.availability.workersRest(at: now),
                isShutForStrangers: state.strangersAvailability.isShut(at: now),
                latencies: latencies.mapValues(\.reading))
        }
    }

    /// Whether polls would for the greater part be kept here now.
    package var isShut: Bool {
        let now = now()
        return state.withLock { $0.availability.isShut(at: now) }
    }

    /// The same for polls on behalf of strangers.
    package var isShutForStrangers: Bool {
        let now = now()
        return state.withLock { $0.availability.isShut(at: now) || $0.strangersAvailability.isShut(at: now) }
    }

    /// Records that a pass of polls takes now, of so many: while Belvo is away polls end here, and only those matter
    /// that find out whether it is back, or whose record has lasted too long. Where the calls of users who were refused
    /// nothing find out, enough are taken to have some of them.
    package func pollsMax(of count: Int) -> Int {
        let now = now()
        return state.withLock { state in
            guard state.availability.isShut(at: now) else { return count }
            return min(count, state.availability.isFindingOut(at: now) ? 64 : 8)
        }
    }

    /// Whether a worker's call of this kind would have its turn soon: not where those of so many users wait for nothing
    /// but a turn that the budget has none for in a third of a second. Which call is the most urgent is best found out
    /// when there is a turn for it.
    package func hasTurns(for call: Call) -> Bool {
        let now = now()
        return state.withLock { state in
            let hasTurns = state.workersWaiting(for: call.subject, at: now) < usersWaitingMax
            if !hasTurns { state.workersLackedTurnsAt = now }
            return hasTurns
        }
    }

    /// Whether there have been more polls than turns for them within the last seconds: less had better be begun.
    package var areWorkersBehind: Bool {
        let now = now()
        return state.withLock { state in
            state.workersLackedTurnsAt.map { now < $0 + Self.memoryOfLack } ?? false
        }
    }

    private func carry(
        _ call: Call, _ request: Request, within timeout: Duration, for turn: Turn, by send: Belvo.Client.Send
    ) async throws -> Response {
        let start = Monotonic.now()
        let hasTurn = state.withLock { state in state.take(turn, at: now()) }
        if !hasTurn {
            let wait = min(turnWaitMax[turn.caller], timeout / 2)
            guard await self.wait(for: turn, within: wait) else {
                count(call, .heldBack)
                throw state.withLock { $0.hasShare(turn, at: now()) } ? CallHeldBack.noTurn : .noShare
            }
        }
        let (isProbe, number): (Bool, UInt64)
        switch enter(call, turn) {
        case .success(let entered): (isProbe, number) = entered
        case .failure(let error):
            pass()
            throw error
        }
        let (departure, began) = (Monotonic.now(), now())
        let outcome: CallOutcome
        let result: Result<Response, any Error>
        do {
            let response = try await send(request, timeout - (Monotonic.now() - start))
            outcome = CallOutcome(response)
            result = .success(response)
        } catch {
            outcome = CallOutcome(error)
            result = .failure(error)
        }
        latencies[call]?.record(nanoseconds: UInt64(max(0, (Monotonic.now() - departure).wholeNanoseconds)))
        leave(call, request, turn, number, outcome, isProbe: isProbe, began: began)
        pass()
        return try result.get()
    }
}

// Coming in and going out.
extension BelvoGate {
    /// The last question before a call leaves, with its turn taken: whether it finds out if Belvo is back, and its
    /// number.
    private func enter(_ call: Call, _ turn: Turn) -> Result<(isProbe: Bool, number: UInt64), CallHeldBack> {
        let now = now()
        return state.withLock { state in
            let entry =
                turn.caller == .stranger
                ? Self.enter(call, asStrangerInto: &state, at: now)
                : state.availability.enter(call, turn.caller, of: turn.owner, at: now)
            switch entry {
            case .go(let isProbe): return .success((isProbe, state.departures[turn.caller].add(turn, at: now)))
            case .heldBack(let error):
                state.giveBack(turn)
                state.counts[GateSnapshot.Key(call: call, outcome: .heldBack), default: 0] += 1
                return .failure(error)
            }
        }
    }

    /// A stranger's call is held back as any other, and is never the one that finds out whether Belvo is back.
    private static func enter(
        _ call: Call, asStrangerInto state: inout GateState, at now: Monotonic
    ) -> BelvoAvailability.Entry {
        if state.availability.isShut(at: now) {
            let pause = max(state.availability.workersRest(at: now) ?? .zero, pauseOfStrangers)
            return .heldBack(CallHeldBack(reason: "Belvo is left alone", retryAfter: pause))
        }
        return state.strangersAvailability.enter(call, .stranger, at: now)
    }

    /// Learns from how a call ended: from a stranger's nothing that matters to others.
    private func leave(
        _ call: Call, _ request: Request, _ turn: Turn, _ number: UInt64, _ outcome: CallOutcome, isProbe: Bool,
        began: Monotonic
    ) {
        let now = now()
        let (events, slowed) = state.withLock { state in
            state.finish(turn, number)
            // What strangers are told slows none but them.
            let isSlowed = state.limiter.learn(from: outcome.kind, of: turn.owner, at: now)
            let slowed = isSlowed ? state.limiter.rate(at: now) : nil
            if turn.caller != .stranger {
                state.failures.note(outcome.kind, isChanging: call.isChanging, turn.place, at: now)
            }
            state.hangingUsers.note(
                outcome.kind, isChanging: call.isChanging, turn.caller, turn.place, began: began, at: now)
            state.counts[GateSnapshot.Key(call: call, outcome: outcome.kind), default: 0] += 1
            let availability = turn.caller == .stranger ? \GateState.strangersAvailability : \GateState.availability
            let events = state[keyPath: availability].learn(
                from: outcome, call, turn.caller, of: turn.owner, target: request.target, isProbe: isProbe,
                began: began, at: now, jitter: random)
            return (events, slowed)
        }
        if let slowed { log.warning("belvo.rate_lowered", metadata: ["calls_a_second": "\(Int(slowed))"]) }
        for event in events { logEvent(event, call, turn.caller) }
    }

    private func count(_ call: Call, _ outcome: CallOutcome.Kind) {
        state.withLock { $0.counts[GateSnapshot.Key(call: call, outcome: outcome), default: 0] += 1 }
    }

    /// Logs one line for each change, however many calls notice it. For strangers' calls the level is warning at most.
    private func logEvent(_ event: BelvoAvailability.Event, _ call: Call, _ caller: Caller) {
        func level(_ level: Logger.Level) -> Logger.Level { caller == .stranger ? min(level, .warning) : level }
        let whose: Logger.Metadata = caller == .stranger ? ["caller": "\(caller.rawValue)"] : [:]
        func log(_ name: Logger.Message, _ severity: Logger.Level, _ details: Logger.Metadata) {
            self.log.log(level: level(severity), name, metadata: details.merging(whose) { $1 })
        }
        switch event {
        case .circuit(.opened(let failures, let calls)):
            log("belvo.circuit_opened", .error, ["failures": "\(failures)", "calls": "\(calls)"])
        case .circuit(.closed(let span)):
            log("belvo.circuit_closed", .info, ["open_ms": "\(span.wholeNanoseconds / 1_000_000)"])
        case .throttled(let span):
            log("belvo.throttled", .warning, ["quiet_ms": "\(span.wholeNanoseconds / 1_000_000)"])
        case .denied(let alarm, let status, let denials):
            log(
                alarm == .credentials ? "belvo.denied" : "belvo.content_forbidden", .critical,
                ["call": "\(call.rawValue)", "status": "\(status)", "denials": "\(denials)"])
        case .admitted(let denials):
            log("belvo.admitted", .notice, ["denials": "\(denials)"])
        }
    }
}

// Waiting for a turn.
extension BelvoGate {
    /// Waits in line; false when the time is over first, or the line is too long.
    private func wait(for turn: Turn, within time: Duration) async -> Bool {
        guard let loop = EventLoop.current else { preconditionFailure("Belvo is called from an event loop") }
        let timer = LoopBound(Reminder(), on: loop)
        let hasTurn = await withCheckedContinuation { continuation in
            let id = state.withLock { state -> UInt64? in
                let lines = state.lines[turn.caller]
                guard lines.count < Self.lineMax[turn.caller],
                    !turn.hasShare || lines.count(in: turn.place) < Self.lineOfUserMax
                else { return nil }
                let now = now()
                let rounds =
                    switch turn.caller {
                    case .person: state.failures.roundsOfJoining(turn.place, at: now)
                    case .background: state.failures.rounds(for: turn.place, at: now)
                    case .stranger: 0
                    }
                return state.lines[turn.caller].join(
                    continuation, in: turn.place, isContinued: turn.isContinued && rounds == 0, after: rounds, at: now)
            }
            guard let id else { return continuation.resume(returning: false) }
            timer.value.timer = loop.schedule(after: time) { [self] in
                state.withLock { $0.lines[turn.caller].remove(id, in: turn.place) }?.resume(returning: false)
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
        let timer = state.withLock { state -> (delay: Duration, due: Monotonic)? in
            let now = now()
            while let next = state.next(at: now) { next.resume(returning: true) }
            guard let delay = state.delay(at: now) else { return nil }
            if let due = state.timerDueAt, due > now, due <= now + delay { return nil }
            state.timerDueAt = now + delay
            return (delay, now + delay)
        }
        guard let timer, let loop = EventLoop.current else { return }
        loop.schedule(after: timer.delay) { [self] in
            // A sooner one may have taken its place, and sets the next one.
            let isDue = state.withLock { state in
                guard state.timerDueAt == timer.due else { return false }
                state.timerDueAt = nil
                return true
            }
            if isDue { pass() }
        }
    }
}

import Belvo
import Transport

/// The calls at the gate: those that wait, those that have their turns, and what limits them. With a handed-in clock.
struct GateState: Sendable {
    var limiter: CallLimiter
    var shares: UserShares
    var workShares: WorkShares
    var sideCalls: SideCalls
    var institutionShares: InstitutionShares
    var hangingUsers: HangingUsers
    var availability = BelvoAvailability()
    /// The availability of Belvo as strangers' calls alone have shown it.
    var strangersAvailability = BelvoAvailability()
    var failures = RepeatedFailures()
    var lines = PerCaller(
        person: CallLines(count: CallLines.peoplesLines), background: CallLines(count: CallOrigin.workLines),
        stranger: CallLines())
    var departures: PerCaller<Departures<Turn>>
    /// Turns that others had one after the other while calls that come behind them waited.
    var othersInARow = PerCaller(person: 0, background: 0, stranger: 0)
    /// Turns that people's calls had one after the other that begin nothing.
    var goneOnInARow = 0
    /// Since when workers' calls have been waiting without a break, of users whose last ones have not failed.
    var workersWaitSince: Monotonic?
    /// When a pass of polls was last put off because too many waited for turns.
    var workersLackedTurnsAt: Monotonic?
    /// How long they wait until every third turn is theirs, and one before each call that begins something: where there
    /// is too much to do, what was begun is brought to its end first.
    static let workersWaitMax = Duration.seconds(1)
    /// When turns are given out next, unless something happens before.
    var timerDueAt: Monotonic?
    var counts: [GateSnapshot.Key: Int] = [:]

    /// Turns of people's calls that begin nothing after which one has its turn that does, where both wait.
    static let goneOnInARowMax = 2
    /// Turns of others after which a call has one whose user's last ones have failed, where both wait in lines of their
    /// own.
    static let othersInARowMax = 3

    /// The call in line that has the next turn, among those whose shares allow another one.
    private struct First {
        let place: CallLines.Place
        /// Whether its user's last calls have failed.
        let isFailing: Bool
        /// Whether it goes before such a one of another line.
        var hasPassedOver = false
        /// Whether one of them is of a user whose last calls have not failed.
        var isAnyWell = true
    }

    /// Users in the line of workers' calls about this subject whose next call waits for nothing but a turn.
    func workersWaiting(for subject: Call.Subject, at now: Monotonic) -> Int {
        lines.background.places(inLineOf: subject).count { allows(.background, $0, at: now) }
    }

    private func first(in caller: Caller, at now: Monotonic) -> First? {
        guard lines[caller].count > 0 else { return nil }
        let firsts = lines[caller].firsts { allows(caller, $0, at: now) }
        func isWell(_ place: CallLines.Place) -> Bool { failures.rounds(for: place, at: now) == 0 }
        let failing = firsts.first { !isWell($0) }
        let well = firsts.filter(isWell)
        let other = caller == .person ? firstOfPeople(among: well) : well.first
        guard let other, failing == nil || othersInARow[caller] < Self.othersInARowMax else {
            return failing.map { First(place: $0, isFailing: true, isAnyWell: other != nil) }
        }
        return First(place: other, isFailing: false, hasPassedOver: failing != nil)
    }

    /// The first place of those that go on before those that begin something, which have a turn after so many.
    private func firstOfPeople(among firsts: [CallLines.Place]) -> CallLines.Place? {
        let mayBegin = goneOnInARow >= Self.goneOnInARowMax
        return firsts.first { $0.isBeginning == mayBegin } ?? firsts.first
    }

    /// Whether the call's user and institution may have another one under way.
    func hasShare(_ turn: Turn, at now: Monotonic) -> Bool { allows(turn.caller, turn.place, at: now) }

    private func allows(_ caller: Caller, _ place: CallLines.Place, at now: Monotonic) -> Bool {
        guard sideCalls.allows(caller, place), institutionShares.allows(caller, place),
            hangingUsers.allows(caller, place, failures.institutions, at: now)
        else { return false }
        guard Turn.hasShare(caller, place.party) else { return true }
        return caller == .person ? shares.allows(place.party, at: now) : workShares.allows(place.party)
    }

    private mutating func takeShare(_ caller: Caller, _ place: CallLines.Place, at now: Monotonic) {
        sideCalls.take(caller, place)
        institutionShares.take(caller, place)
        hangingUsers.take(caller, place, failures.institutions, at: now)
        guard Turn.hasShare(caller, place.party) else { return }
        if caller == .person { shares.take(place.party, at: now) } else { workShares.take(place.party) }
    }

    private mutating func finishPlace(_ turn: Turn) {
        sideCalls.finish(turn.caller, turn.place)
        institutionShares.finish(turn.caller, turn.place)
    }

    private mutating func finishShare(_ turn: Turn) {
        hangingUsers.finish(turn.caller, turn.place)
        guard turn.hasShare else { return }
        if turn.caller == .person { shares.finish(turn.party) } else { workShares.finish(turn.party) }
    }

    /// How long until a share allows its party another call by the passing of time alone; nil where a call has to
    /// end first, which passes its place on.
    private func shareDelay(_ caller: Caller, _ party: UInt64, at now: Monotonic) -> Duration? {
        guard Turn.hasShare(caller, party) else { return .zero }
        return caller == .person ? shares.delay(of: party, at: now) : workShares.allows(party) ? .zero : nil
    }

    /// Takes a turn unless a caller of the same kind waits for it.
    mutating func take(_ turn: Turn, at now: Monotonic) -> Bool {
        releaseLate(at: now)
        let isContinued = turn.isContinued && failures.rounds(for: turn.place, at: now) == 0
        guard isContinued || first(in: turn.caller, at: now) == nil, allows(turn.caller, turn.place, at: now),
            limiter.take(for: turn.caller, at: now)
        else { return false }
        takeShare(turn.caller, turn.place, at: now)
        lines[turn.caller].noteTurn(in: turn.place, at: now)
        return true
    }

    /// Takes the next turn for one of those who wait.
    mutating func next(at now: Monotonic) -> CheckedContinuation<Bool, Never>? {
        releaseLate(at: now)
        let firsts = PerCaller(
            person: first(in: .person, at: now), background: first(in: .background, at: now),
            stranger: first(in: .stranger, at: now))
        workersWaitSince = firsts.background?.isAnyWell ?? false ? workersWaitSince ?? now : nil
        let areWorkersBehind = workersWaitSince.map { now - $0 >= Self.workersWaitMax } ?? false
        guard
            let caller = limiter.next(
                waiting: { firsts[$0] != nil },
                peopleInARowMax: peopleInARowMax(before: firsts.person, areWorkersBehind), at: now),
            let first = firsts[caller]
        else { return nil }
        othersInARow[caller] = first.hasPassedOver ? othersInARow[caller] + 1 : 0
        if caller == .person { goneOnInARow = first.place.isBeginning ? 0 : goneOnInARow + 1 }
        takeShare(caller, first.place, at: now)
        return lines[caller].removeFirst(in: first.place, at: now)
    }

    /// How many turns people have in a row while workers wait, this one among them.
    private func peopleInARowMax(before first: First?, _ areWorkersBehind: Bool) -> Int {
        guard let first else { return CallLimiter.peopleInARowMax }
        if first.isFailing { return 1 }
        guard areWorkersBehind else { return CallLimiter.peopleInARowMax }
        return first.place.isBeginning ? 1 : 2
    }

    /// How long until a waiting caller may have a turn by the passing of time alone.
    mutating func delay(at now: Monotonic) -> Duration? {
        var least: Duration?
        for caller in Caller.allCases where lines[caller].count > 0 {
            let delay = limiter.delay(for: caller, at: now)
            for party in lines[caller].parties {
                guard let own = shareDelay(caller, party, at: now) else { continue }
                // Where it is a place that is missing and not time, the call that ends passes its place on.
                let wait = max(delay, own)
                if wait > .zero { least = min(least ?? wait, wait) }
            }
        }
        guard Caller.allCases.contains(where: { lines[$0].count > 0 }) else { return least }
        for caller in Caller.allCases {
            guard let delay = departures[caller].delay(at: now) else { continue }
            least = min(least ?? delay, delay)
        }
        return least
    }

    /// Gives the places of late calls to others. What their users may have under way they still have.
    private mutating func releaseLate(at now: Monotonic) {
        for caller in Caller.allCases {
            while let turn = departures[caller].takeLate(at: now) {
                limiter.finish(caller)
                finishPlace(turn)
            }
        }
    }

    /// - Parameter departure: the number of the call when it left.
    mutating func finish(_ turn: Turn, _ departure: UInt64) {
        if departures[turn.caller].remove(departure) {
            limiter.finish(turn.caller)
            finishPlace(turn)
        }
        finishShare(turn)
    }

    mutating func giveBack(_ turn: Turn) {
        limiter.giveBack(turn.caller)
        finishPlace(turn)
        finishShare(turn)
    }

    /// Calls that have left and have not ended.
    var underWay: PerCaller<Int> {
        PerCaller(
            person: limiter.underWay.person + departures.person.late,
            background: limiter.underWay.background + departures.background.late,
            stranger: limiter.underWay.stranger + departures.stranger.late)
    }
}

/// A call that waits for its turn, or has it.
struct Turn: Sendable {
    let caller: Caller
    /// Where it waits. Party 0 is no user in particular.
    let place: CallLines.Place
    /// Whether it goes before those that begin something.
    let isContinued: Bool

    var party: UInt64 { place.party }

    /// The user whose records the call is about: Belvo's answer may be due to them, and is held against Belvo only
    /// so far. 0 where there is none.
    var owner: UInt64 { caller == .stranger ? 0 : party }

    /// Whether the party has a share that it may not exceed.
    var hasShare: Bool { Self.hasShare(caller, party) }

    static func hasShare(_ caller: Caller, _ party: UInt64) -> Bool { caller != .stranger && party != 0 }
}

import Transport

/// Decides, by one seed, which of all those that wait goes on next, and how late it is.
///
/// Everything in a simulation runs on one event loop. Whoever crosses a boundary (to Belvo, to the database, to an app)
/// stops here first; when nobody can go on by himself any more, one of those who wait is chosen. While the database
/// works on a statement nobody is chosen, so that the seed alone decides what comes after what.
///
/// `@unchecked Sendable`, because it is touched on its loop's thread only.
final class Scheduler: @unchecked Sendable {
    let loop: EventLoop
    /// The time since the simulation began, which passes only when the scheduler lets it.
    private(set) var elapsed: Duration = .zero
    /// Until when somebody is paused who has been, or when a clock has leapt.
    private(set) var disturbedUntil: Duration = .zero
    /// What happened, one line a step.
    private(set) var trace: [String] = []
    /// How often each fault was done.
    private(set) var faults: [Fault: Int] = [:]
    /// Nothing goes wrong.
    private(set) var isCalm = true
    /// The least time for which those sleep who look for work by themselves: the healing takes hours.
    var leastSleep: Duration = .zero

    private var random: SeededGenerator
    private var weather: Weather
    private var waiting: [Step] = []
    private var underWay = 0
    private var gone: Set<Party> = []
    private var frozen: [Party: Duration] = [:]

    private struct Step {
        let party: Party
        let what: String
        let weight: Int
        let notBefore: Duration
        let continuation: UnsafeContinuation<Void, Never>
    }

    init(seed: UInt64, on loop: EventLoop) {
        self.loop = loop
        random = SeededGenerator(seed: seed)
        weather = Weather(using: &random)
    }

    /// From here on the loop does nothing that is not chosen.
    func begin() {
        loop.onIdle = { [self] in goOn() }
    }

    func end() {
        loop.onIdle = nil
        waiting = []
    }

    /// Waits to be chosen. Whoever is dead waits for ever.
    func pause(
        _ party: Party, _ what: String, weight: Int = 8, for time: Duration = .zero
    ) async {
        await withUnsafeContinuation { continuation in
            guard !gone.contains(party) else { return }
            waiting.append(
                Step(
                    party: party, what: what, weight: weight, notBefore: elapsed + time, continuation: continuation))
        }
    }

    /// Does something real that takes a moment; nobody is chosen meanwhile.
    func really<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        underWay += 1
        defer { underWay -= 1 }
        return try await body()
    }

    /// Ends a party where it stands: what it waits for never comes.
    func kill(_ party: Party) {
        gone.insert(party)
        waiting.removeAll { $0.party == party }
    }

    /// Stops a party for a while, as a machine that swaps or a paused process does.
    func freeze(_ party: Party, for time: Duration) {
        frozen[party] = elapsed + time
        disturbedUntil = max(disturbedUntil, elapsed + time)
    }

    func storm() {
        isCalm = false
    }

    /// From here on nothing goes wrong.
    func calm() {
        isCalm = true
        frozen = [:]
    }

    func advance(by time: Duration) {
        elapsed += time
        disturbedUntil = max(disturbedUntil, elapsed)
    }

    func note(_ line: String) {
        trace.append("         \(line)")
    }

    private func goOn() {
        guard underWay == 0, !waiting.isEmpty else { return }
        // Everything takes its time, now and then.
        if Int.random(in: 0..<10, using: &random) == 0 {
            elapsed += .milliseconds(Int.random(in: 1...100, using: &random))
        }
        let moments = waiting.map { max($0.notBefore, frozen[$0.party] ?? .zero) }
        if let next = moments.min(), next > elapsed { elapsed = next }
        let ready = waiting.indices.filter { moments[$0] <= elapsed }
        var place = Int.random(in: 0..<ready.reduce(0) { $0 + waiting[$1].weight }, using: &random)
        for index in ready {
            place -= waiting[index].weight
            guard place < 0 else { continue }
            let step = waiting.remove(at: index)
            trace.append("\(stamp) \(step.party) \(step.what)")
            return step.continuation.resume()
        }
    }

    private var stamp: String {
        let (seconds, attoseconds) = elapsed.components
        let milliseconds = String(1_000 + attoseconds / 1_000_000_000_000_000).dropFirst()
        return "\(trace.count + 1)".leftPadded(5) + " \(seconds).\(milliseconds)s"
    }
}

// What the seed decides besides the order.
extension Scheduler {
    /// Whether something happens that happens so often in a hundred times.
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func bits() -> UInt64 { random.next() }

    func pick<Item>(_ items: [Item]) -> Item? { items.randomElement(using: &random) }

    /// A span between the two, to the millisecond.
    func span(_ from: Duration, _ to: Duration) -> Duration {
        .milliseconds(Int64.random(in: from.milliseconds...to.milliseconds, using: &random))
    }

    /// One of these faults, or none; none at all while it is calm.
    func fault(among kinds: [Fault]) -> Fault? {
        guard !isCalm, let fault = weather.fault(among: kinds, using: &random) else { return nil }
        faults[fault, default: 0] += 1
        note("FAULT \(fault.rawValue)")
        return fault
    }
}

/// Who does something in a simulation.
enum Party: Hashable, CustomStringConvertible {
    case server(Int)
    case app(String)
    /// Time, the bank, the shop, whoever kills servers.
    case fate(String)

    var description: String {
        switch self {
        case .server(let number): "server \(number)"
        case .app(let name): "app \(name)"
        case .fate(let name): name
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { wholeNanoseconds / 1_000_000 }
}

extension String {
    fileprivate func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

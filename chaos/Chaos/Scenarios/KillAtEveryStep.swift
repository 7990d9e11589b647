import HTTP
import Transport

/// The server dies by `kill -9` before and after every message that it sends or gets; apps go on asking.
///
/// Purchases one after the other first, each killed at one of the messages that a purchase is made of; then several at
/// a time, at ever later messages whatever they are. The server knows nothing of this: relays see each message, and one
/// of them kills.
public struct KillAtEveryStep: Sendable {
    let tools: Tools
    /// How many buy at the same time in the second part.
    var width = 8
    /// Which messages are aimed at. What the server does by itself all the time is not a step of a purchase, and a
    /// session is opened only sometimes.
    public var isAimedAt: @Sendable (Crossing) -> Bool = { ![.session, .read, .rows].contains($0.kind) }

    public init(tools: Tools) {
        self.tools = tools
    }

    public func play() async throws -> [Report] {
        let hand = KillingHand()
        var plan = Site.Plan()
        plan.users = min(60, tools.purchases)
        plan.warden = hand
        return try await Site.open("kill", with: tools, plan) { site in
            hand.victim.value = site.instance
            let queue = Queue(of: site)
            let steps = try await listen(to: queue, hand)
            let keeper = Loop.task { await site.instance.keepAlive() }
            defer { keeper.cancel() }
            let start = Monotonic.now()
            try await sweep(steps, with: queue, hand)
            let aimed = hand.deeds.count
            try await sweepMany(with: queue, hand)
            hand.disarm()
            let end = Monotonic.now()
            await queue.finish()
            var report = Report(
                "`kill -9` at every step",
                deeds:
                    "\(hand.deeds.count) kills, \(aimed) of them aimed at \(2 * steps.count) places of one purchase: "
                    + hand.summary)
            try await SiteChecker(site).check(&report)
            report.gap = site.testimony.longestGap(from: start, to: end)
            report.wrong += steps.flatMap(hand.missed).map { "no kill \($0)" }
            return [report]
        }
    }

    /// The messages of a purchase to which nothing happens, in their order.
    private func listen(to queue: Queue, _ hand: KillingHand) async throws -> [Crossing] {
        hand.listen()
        let purchase = await queue.begin()
        guard await eventually(within: .seconds(20), { purchase.value }) else {
            throw CommandFailed(description: "a purchase to which nothing happens does not come to its end")
        }
        return hand.heard().filter(isAimedAt)
    }

    /// One purchase for each place, again and again, for half of the purchases, and once at least.
    private func sweep(_ steps: [Crossing], with queue: Queue, _ hand: KillingHand) async throws {
        let places = steps.flatMap { [KillingHand.Place($0, isBefore: true), KillingHand.Place($0, isBefore: false)] }
        var missed = places
        while !missed.isEmpty {
            var left: [KillingHand.Place] = []
            for place in missed {
                hand.aim(at: place)
                let purchase = await queue.begin()
                _ = await eventually(within: .seconds(4), every: .milliseconds(5)) {
                    hand.hasStruck || purchase.value
                }
                // A purchase may do without a message: a webhook may be faster than a poll.
                if !hand.hasStruck { left.append(place) }
                hand.disarm()
                await recover(queue)
            }
            // Anew with all of them, or once more with those that a purchase did without.
            let isHalf = queue.count >= tools.purchases / 2
            tools.say("  \(hand.deeds.count) kills, \(left.count) of \(places.count) places still missed")
            if isHalf, left.count == missed.count || queue.count >= tools.purchases { return }
            missed = isHalf ? left : places
        }
    }

    /// Several at a time; each round is killed later than the one before, and from the beginning again.
    private func sweepMany(with queue: Queue, _ hand: KillingHand) async throws {
        var step = 1
        while queue.count < tools.purchases {
            hand.count(to: step)
            var purchases: [LockedBox<Bool>] = []
            for _ in 0..<width { purchases.append(await queue.begin()) }
            _ = await eventually(within: .seconds(4), every: .milliseconds(5)) { [purchases] in
                hand.hasStruck || purchases.allSatisfy(\.value)
            }
            // 7 divides few numbers of steps: the rounds meet other steps each time they begin again.
            step = hand.hasStruck && step < 60 * width ? step + 7 : 1 + step % 7
            hand.disarm()
            await recover(queue)
        }
    }

    /// Until the server is back; a user who waits for a poll that is due later is left behind.
    private func recover(_ queue: Queue) async {
        _ = await eventually(within: .seconds(30), every: .milliseconds(10)) {
            await Probe.status(of: "/livez", at: queue.site.instance.port) == 200
        }
    }
}

/// Purchases, each by a user who has nothing else to do.
private final class Queue: Sendable {
    let site: Site
    private let idle: LockedBox<[User]>
    private let begun = LockedBox(0)
    private let tasks = LockedBox<[Task<Void, any Error>]>([])

    init(of site: Site) {
        self.site = site
        idle = LockedBox(site.users)
    }

    var count: Int { begun.value }

    /// Has the next idle user begin a purchase; the result says later whether it is over.
    func begin() async -> LockedBox<Bool> {
        let isOver = LockedBox(false)
        var user: User?
        while user == nil {
            user = idle.update { $0.isEmpty ? nil : $0.removeFirst() }
            if user == nil { await Loop.rest(.milliseconds(20)) }
            if Task.isCancelled { return isOver }
        }
        guard let user else { return isOver }
        let number = begun.update { begun in
            begun += 1
            return begun
        }
        let task = Loop.task { [idle] in
            await user.buy("sweep-\(number)")
            isOver.value = true
            idle.update { $0.append(user) }
        }
        tasks.update { $0.append(task) }
        return isOver
    }

    /// Waits for those that are under way.
    func finish() async {
        if await !site.settleDown() {
            for task in tasks.value { task.cancel() }
        }
        for task in tasks.value { _ = await task.result }
    }
}

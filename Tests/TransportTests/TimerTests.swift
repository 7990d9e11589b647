import TestSupport
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct TimerTests {
    @Test func `timers fire by their deadlines, in whatever order they were set`() async throws {
        try await withLoop { loop in
            let fired = Box<[Int]>([])
            let isOver = Gate()
            // So far apart that a thread held up between two lines does not change their order.
            loop.schedule(after: .milliseconds(450)) { isOver.open() }
            for delay in [300, 150, 0] {
                loop.schedule(after: .milliseconds(delay)) { fired.update { $0.append(delay) } }
            }
            await isOver.pass()
            #expect(fired.value == [0, 150, 300])
        }
    }

    @Test func `a cancelled timer does not fire`() async throws {
        try await withLoop { loop in
            let fired = Box(false)
            let timer = loop.schedule(after: .milliseconds(1)) { fired.update { $0 = true } }
            timer.cancel()
            timer.cancel()
            // Later than the timer that must not fire.
            try await loop.sleep(for: .milliseconds(5))
            #expect(!fired.value)
        }
    }

    @Test func `a timer cancelled by another that fires in the same round does not fire`() async throws {
        try await withLoop { loop in
            let fired = Box(false)
            let pair = Pair()
            loop.schedule(after: .zero) { pair.second?.cancel() }
            pair.second = loop.schedule(after: .zero) { fired.update { $0 = true } }
            // Later than the timers that were due.
            try await loop.sleep(for: .milliseconds(1))
            #expect(!fired.value)
        }
    }

    @Test func `a timer may set and cancel timers while it fires, itself too`() async throws {
        try await withLoop { loop in
            let fired = Box(0)
            let isOver = Gate()
            let pair = Pair()
            pair.first = loop.schedule(after: .zero) {
                pair.first?.cancel()
                loop.schedule(after: .milliseconds(-1)) { fired.update { $0 += 1 } }
                loop.schedule(after: .zero) { isOver.open() }
            }
            await isOver.pass()
            #expect(fired.value == 1)
        }
    }

    @Test func `cancelling lets go of what the timer would have done`() async throws {
        try await withLoop { loop in
            weak var held: Pair?
            let timer = {
                let pair = Pair()
                held = pair
                return loop.schedule(after: .seconds(3600)) { pair.second = nil }
            }()
            #expect(held != nil)
            timer.cancel()
            #expect(held == nil)
        }
    }

    @Test func `a queue gives back what is left of many timers, by deadline`() {
        var queue = TimerQueue()
        var expected: [Int64] = []
        for number in 0..<5000 {
            let deadline = Int64.random(in: 0..<10_000)
            let timer = LoopTimer(deadline: Monotonic(nanoseconds: deadline)) {}
            queue.insert(timer)
            // So many are cancelled that the queue throws the dead ones out on the way.
            if number % 5 == 0 { expected.append(deadline) } else { timer.cancel() }
        }
        var given: [Int64] = []
        while let timer = queue.popDue(at: Monotonic(nanoseconds: 5000)) { given.append(timer.deadline.nanoseconds) }
        #expect(given == expected.filter { $0 <= 5000 }.sorted())
        while let timer = queue.popDue(at: Monotonic(nanoseconds: .max)) { given.append(timer.deadline.nanoseconds) }
        #expect(given == expected.sorted())
        #expect(queue.nextDeadline == nil)
    }

    @Test func `cancelled timers do not pile up`() {
        var queue = TimerQueue()
        weak var first: LoopTimer?
        for number in 0..<1000 {
            let timer = LoopTimer(deadline: Monotonic(nanoseconds: .max)) {}
            if number == 0 { first = timer }
            queue.insert(timer)
            timer.cancel()
        }
        #expect(first == nil)
    }
}

/// Timers that know each other. Touched on one loop only.
private final class Pair {
    var first: LoopTimer?
    var second: LoopTimer?
}

import TestSupport
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct EventLoopTests {
    @Test func `a loop that waits for nothing stops when it is told to`() async throws {
        for _ in 0..<20 {
            let loop = try EventLoop()
            let thread = try LoopThread.start(loop, name: "test-loop")
            // The loop has run something and goes to sleep, or is just about to.
            try await loop.task {}.value
            loop.stop()
            try await onThread { thread.join() }
        }
    }

    @Test func `a loop knows its own thread and no other`() async throws {
        try await withLoop { loop in
            #expect(loop.isCurrent)
            #expect(EventLoop.current === loop)
            let other = try await onThread { (loop.isCurrent, EventLoop.current == nil) }
            #expect(other == (false, true))
        }
    }

    @Test func `work handed over by many threads is all done, and on the loop`() async throws {
        try await withLoop { loop in
            let done = Box(0)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await onThread {
                            for _ in 0..<1000 { loop.execute { if loop.isCurrent { done.update { $0 += 1 } } } }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Everything was handed over before this question.
            try await loop.task {}.value
            #expect(done.value == 4000)
        }
    }

    @Test func `a task stays on its loop through everything it awaits`() async throws {
        try await withLoop { other in
            try await withLoop { loop in
                #expect(loop.isCurrent)
                await Task.yield()
                #expect(loop.isCurrent)
                // Sleeping is one of the things that it awaits.
                try await loop.sleep(for: .milliseconds(1))
                #expect(loop.isCurrent)
                await BlockingThreads.shared.run { () throws(Never) in #expect(!loop.isCurrent) }
                #expect(loop.isCurrent)
                try await other.task { #expect(other.isCurrent) }.value
                #expect(loop.isCurrent)
                await Counter().count()
                #expect(loop.isCurrent)
                try await onThread {}
                #expect(loop.isCurrent)
                await withTaskGroup { group in
                    for _ in 0..<10 { group.addTask { #expect(loop.isCurrent) } }
                }
                #expect(loop.isCurrent)
            }
        }
    }

    @Test func `what an owner keeps on a loop is its own, and made once`() async throws {
        try await withLoop { loop in
            let (one, two) = (Counter(), Counter())
            let first = loop.local(for: one) { Kept() }
            #expect(loop.local(for: one) { Kept() } === first)
            #expect(loop.local(for: two) { Kept() } !== first)
            #expect(loop.removeLocal(for: one) === first)
            #expect(loop.removeLocal(for: one) == nil)
            #expect(loop.local(for: one) { Kept() } !== first)
        }
    }

    @Test func `an owner lives as long as something is kept for it, so that no other gets its identity`() async throws {
        try await withLoop { loop in
            weak var owner: Counter?
            do {
                let strong = Counter()
                owner = strong
                _ = loop.local(for: strong) { Kept() }
            }
            #expect(owner != nil)
            if let owner { _ = loop.removeLocal(for: owner) }
            #expect(owner == nil)
        }
    }
}

private final class Kept {}

private actor Counter {
    private var value = 0

    func count() { value += 1 }
}

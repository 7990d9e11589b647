import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct SleepTests {
    @Test func `sleeping takes the time it was told`() async throws {
        try await withLoop { loop in
            let start = Monotonic.now()
            // Sleeping is what is tested.
            try await loop.sleep(for: .milliseconds(30))
            #expect(Monotonic.now() - start >= .milliseconds(30))
        }
    }

    @Test func `a cancelled task stops sleeping`() async throws {
        try await withLoop { loop in
            let isSleeping = Gate()
            let sleeper = loop.task {
                isSleeping.open()
                // It ends by being cancelled.
                try await loop.sleep(for: .seconds(3600))
            }
            await isSleeping.pass()
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
    }

    @Test func `a task that is cancelled already does not begin to sleep`() async throws {
        try await withLoop { loop in
            let mayBegin = Gate()
            let sleeper = loop.task {
                await mayBegin.pass()
                // It ends by being cancelled.
                try await loop.sleep(for: .seconds(3600))
            }
            sleeper.cancel()
            mayBegin.open()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
    }

    @Test func `tasks cancelled from other threads while they fall asleep all wake`() async throws {
        try await withLoop { loop in
            // It ends by being cancelled.
            let sleepers = (0..<200).map { _ in loop.task { try await loop.sleep(for: .seconds(3600)) } }
            try await onThread { for sleeper in sleepers { sleeper.cancel() } }
            for sleeper in sleepers {
                await #expect(throws: CancellationError.self) { try await sleeper.value }
            }
        }
    }
}

import FoundationEssentials
import Logging
import Payments
import TestSupport
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantStore
@testable import MerchantWorkflows

/// How the loops that poll records share their time.
@Suite struct DueLoopTests {
    /// Says of every pass what the test says of it.
    private struct ScriptedWorker: DueWorker {
        let name = "scripted"
        let table = DueTable.payments
        let passes: Box<Int>
        let pass: @Sendable (_ number: Int) -> Pass

        func runOnce() async throws -> Pass {
            passes.update { $0 += 1 }
            return pass(passes.value)
        }
    }

    private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Has the loop pause at least three times, and says how many passes and pauses there were.
    private func play(_ pass: @escaping @Sendable (_ number: Int) -> Pass) async throws -> (passes: Int, pauses: Int) {
        let (passes, pauses) = (Box(0), Box(0))
        let worker = ScriptedWorker(passes: passes, pass: pass)
        var due = DueLoop(workers: [worker], due: { Set($0) }, pause: .seconds(1), log: log)
        due.sleep = { _ in
            pauses.update { $0 += 1 }
            // The worker's passes take their turns on the same loop.
            for _ in 0..<100 { await Task.yield() }
            if pauses.value >= 3, passes.value >= 3 { throw CancellationError() }
        }
        _ = try await withLoop { [due] loop in
            await #expect(throws: CancellationError.self) { try await due.run(on: loop) }
        }
        return (passes.value, pauses.value)
    }

    @Test func `while every look fails, a pause follows on each pass`() async throws {
        let (passes, pauses) = try await play { _ in Pass(examined: 8, failed: 8, wasFull: true) }
        #expect(passes <= pauses)
    }

    @Test func `who has as much to do as a pass may take goes on at once, also where some looks fail`() async throws {
        let (passes, pauses) = try await play { Pass(examined: 8, failed: 7, wasFull: $0 < 50) }
        #expect(passes >= 50)
        #expect(pauses < 50)
    }

    @Test func `a worker of its own rests as well while every look fails`() async throws {
        let passes = Box(0)
        let worker = ScriptedWorker(passes: passes) { _ in Pass(examined: 8, failed: 8, wasFull: true) }
        try await withLoop { [log] loop in
            let running = loop.task {
                try await WorkLoop(worker: worker, pause: .seconds(3600), log: log).run(on: loop)
            }
            while passes.value == 0 { await Task.yield() }
            for _ in 0..<100 { await Task.yield() }
            running.cancel()
            _ = await running.result
        }
        #expect(passes.value == 1)
    }

    @Test func `what is due is looked at in the same order again, whatever order the database gives it in`()
        async throws
    {
        let ids = (0..<20).map { _ in UUID() }.sorted()
        let looked = Box<[UUID]>([])
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let poller = Poller<UUID>(
            name: "test", table: .payments, limit: 20, width: 1, log: log, gate: nil,
            claim: { _ in
                ids.shuffled().map {
                    Stored(
                        record: $0, version: 1, updatedAt: Timestamp(microsecondsSince1970: 0), deadline: nil,
                        clock: clock)
                }
            },
            poll: { stored in
                looked.update { $0.append(stored.record) }
                return .recorded
            },
            reschedule: { _ in }, id: { $0 })
        let pass = try await onLoop { try await poller.runOnce() }
        #expect(pass.examined == 20)
        #expect(looked.value == ids)
    }
}

import Belvo
import BelvoGate
import FoundationEssentials
import HTTP
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
        var passesMax = 1
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

    /// Waits in every pass for what the test gives.
    private struct WaitingWorker: DueWorker {
        let name = "waiting"
        let table = DueTable.payments
        let passesMax: Int
        let begun: Box<Int>
        let ends: AsyncStream<Void>

        func runOnce() async throws -> Pass {
            begun.update { $0 += 1 }
            for await _ in ends {}
            return Pass(examined: 1)
        }
    }

    @Test(arguments: [false, true])
    func `passes that wait for slow polls keep the next one from beginning only where there are enough young ones`(
        timePasses: Bool
    ) async throws {
        let (begun, pauses) = (Box(0), Box(0))
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let worker = WaitingWorker(passesMax: 3, begun: begun, ends: ends)
        var due = DueLoop(workers: [worker], due: { Set($0) }, pause: .seconds(1), log: log)
        let start = Monotonic.now()
        due.now = { timePasses ? start + .seconds(pauses.value) : start }
        due.sleep = { _ in
            pauses.update { $0 += 1 }
            for _ in 0..<100 { await Task.yield() }
            guard pauses.value >= 100 else { return }
            // One each second begins, up to sixteen times as many as may be young.
            #expect(begun.value == (timePasses ? 48 : 3))
            end.finish()
            throw CancellationError()
        }
        _ = try await withLoop { [due] loop in
            await #expect(throws: CancellationError.self) { try await due.run(on: loop) }
        }
    }

    /// So many records, which are numbers.
    private static func numbered(_ count: Int, _ clock: DatabaseClock) -> [Stored<Int>] {
        (0..<count).map {
            Stored(
                record: $0, version: 1, updatedAt: Timestamp(microsecondsSince1970: 0), deadline: nil, clock: clock)
        }
    }

    @Sendable private static func id(_ number: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
    }

    @Test func `however many records of one user Belvo does not show, another one's are polled meanwhile`() async throws
    {
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let (polled, ends) = (Box<[Int]>([]), AsyncStream.makeStream(of: Void.self))
        let (ana, bob) = (try UserSubject("ana"), try UserSubject("bob"))
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 40, width: 8, log: log, gate: nil,
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                polled.update { $0.append(stored.record) }
                // The last one is another user's: with it the others' readings end.
                if stored.record == 39 { ends.continuation.finish() }
                for await _ in ends.stream {}
                return .recorded
            },
            reschedule: { _ in },
            id: Self.id,
            owner: { $0 == 39 ? ana : bob })
        let pass = try await onLoop { try await poller.runOnce() }
        #expect(pass.examined == 40)
        #expect(polled.value.firstIndex(of: 39)! < 4)
    }

    @Test func `however many users' records Belvo does not show of one institution, another's are polled meanwhile`()
        async throws
    {
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let (polled, ends) = (Box<[Int]>([]), AsyncStream.makeStream(of: Void.self))
        let users = try (0..<40).map { try UserSubject("user-\($0)") }
        let (one, other) = (UUID(), UUID())
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 40, width: 8, log: log, gate: nil,
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                polled.update { $0.append(stored.record) }
                // The last two are the other institution's.
                if stored.record >= 38 { return .recorded }
                if polled.value.contains(39) || polled.value.count >= 8 { ends.continuation.finish() }
                for await _ in ends.stream {}
                return .recorded
            },
            reschedule: { _ in }, id: Self.id, owner: { users[$0] }, institution: { $0 >= 38 ? other : one })
        let pass = try await onLoop { try await poller.runOnce() }
        #expect(pass.examined == 40)
        #expect(Set(polled.value.prefix(8)).isSuperset(of: [38, 39]))
    }

    @Test func `however many records one user has, they are polled twice a second and leave the budget to others`()
        async throws
    {
        let start = Monotonic.now()
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: { start })
        let (ana, bob) = (try UserSubject("ana"), try UserSubject("bob"))
        let (polled, left) = (Box<[Int]>([]), Box<[Reschedule]>([]))
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 40, width: 8, log: log,
            gate: BelvoGate(rate: 50, callsMax: 64, log: log, now: { start }),
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                polled.update { $0.append(stored.record) }
                return .recorded
            },
            reschedule: { reschedules in left.update { $0 = reschedules } },
            id: Self.id,
            owner: { $0 == 39 ? ana : bob })
        let pass = try await onLoop { try await poller.runOnce() }
        // Bob's burst of two seconds, and Ana's.
        #expect(pass.examined == 5)
        #expect(polled.value.contains(39))
        #expect(left.value.count == 35 && left.value.allSatisfy { $0.wait == .seconds(2) })
    }

    /// A gate that Belvo has asked for silence.
    private func shutGate() async throws -> BelvoGate {
        let gate = BelvoGate(rate: 0, callsMax: 64, log: log)
        let carry = gate.carry(for: .background) { _, _ in Response(.tooManyRequests) }
        _ = try await onLoop { try await carry(.readPaymentIntent, Request(.get, Target(path: "/")), .seconds(1)) }
        #expect(gate.isShut)
        return gate
    }

    @Test(.timeLimit(.minutes(1)))
    func `while the gate is shut what it keeps back waits for no record that hangs`() async throws {
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let hang = Gate()
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 2, width: 2, log: log, gate: try await shutGate(),
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                if stored.record == 0 { await hang.pass() }
                return .unchanged(nextPoll: .seconds(1))
            },
            reschedule: { if $0.map(\.id) == [Self.id(1)] { hang.open() } },
            id: Self.id)
        let pass = try await onLoop { try await poller.runOnce() }
        #expect(pass.examined == 2)
    }

    @Test func `a record whose poll has hung is left to other instances for a while`() async throws {
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let (polled, rested) = (Box<[Int]>([]), Box<[Duration?]>([]))
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 2, width: 2, log: log, gate: nil,
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                polled.update { $0.append(stored.record) }
                return .unchanged(nextPoll: stored.record == 0 ? .seconds(2) : .seconds(600))
            },
            reschedule: { reschedules in rested.update { $0 += reschedules.sorted { $0.id < $1.id }.map(\.wait) } },
            id: Self.id, hungTime: .zero)
        for _ in 1...2 { _ = try await onLoop { try await poller.runOnce() } }
        #expect(polled.value.sorted() == [0, 1])
        #expect(rested.value == [.zero, .seconds(600), .zero, .zero])
    }

    @Test func `while the gate is shut another record each time is the first one`() async throws {
        let clock = DatabaseClock(reading: Timestamp(microsecondsSince1970: 0), monotonic: Monotonic.now)
        let polled = Box<[Int]>([])
        let poller = Poller<Int>(
            name: "test", table: .payments, limit: 3, width: 1, log: log, gate: try await shutGate(),
            claim: { Self.numbered($0, clock) },
            poll: { stored in
                polled.update { $0.append(stored.record) }
                return .recorded
            },
            reschedule: { _ in }, id: Self.id)
        for _ in 1...4 { _ = try await onLoop { try await poller.runOnce() } }
        #expect(polled.value == [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2])
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

    @Test func `what nothing waits for leaves the database to payments for three quarters of the time`() {
        let worker = ScriptedWorker(passes: Box(0)) { _ in Pass(examined: 8, wasFull: true) }
        let loop = WorkLoop(worker: worker, pause: .seconds(600), log: log)
        #expect(loop.rest(afterFullPass: .milliseconds(50)) == .milliseconds(150))
        // Of a pass that lasted for long a longer rest says no more than that there is no hurry.
        #expect(loop.rest(afterFullPass: .seconds(3600)) == .seconds(600))
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

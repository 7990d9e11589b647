import FoundationEssentials
import HTTP
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantStore

@Suite(.timeLimit(.minutes(1))) struct ChangeFeedTests {
    @Test func `a change gives the signals of its record on every loop, and no others`() async throws {
        try await withLoop { here in
            try await withLoop { there in
                let changes = ChangeFeed(loops: [here, there], database: try Database("postgresql://127.0.0.1:1/none"))
                let (changed, other) = (ID<Payment>(UUID()), ID<Payment>(UUID()))
                let near = try await Watcher.begin(on: here, of: changed, through: changes)
                let second = try await Watcher.begin(on: here, of: changed, through: changes)
                let far = try await Watcher.begin(on: there, of: changed, through: changes)
                let unconcerned = try await Watcher.begin(on: there, of: other, through: changes)
                #expect(changes.watching == 4)
                try await here.task { changes.announce(changed) }.value
                for watcher in [near, second, far] { await watcher.isSignaled.pass() }
                #expect(!unconcerned.isSignaled.isOpen)
                for watcher in [near, second, far, unconcerned] { await watcher.end() }
                #expect(changes.watching == 0)
                await changes.stop()
            }
        }
    }

    @Test func `a concurrency limit lets so many run at a time, and each in its turn`() async throws {
        try await withLoop { loop in
            let readLimit = LoopBound(ConcurrencyLimit(), on: loop)
            let (gate, inside) = (Gate(), Box((now: 0, most: 0, all: 0)))
            let tasks = (0..<500).map { _ in
                loop.task {
                    await readLimit.value.run {
                        inside.update { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
                        await gate.pass()
                        inside.update { $0.now -= 1 }
                    }
                }
            }
            while inside.value.now < ConcurrencyLimit.width { try await loop.sleep(for: .milliseconds(1)) }
            gate.open()
            for task in tasks { try await task.value }
            #expect(inside.value == (0, ConcurrencyLimit.width, 500))
            // And it is as wide as before.
            #expect(await readLimit.value.run { true })
        }
    }

    @Test func `a notice tells of every record in payloads that PostgreSQL takes`() {
        let records = (0..<501).map { _ in UUID() }
        let payloads = ChangeNotice(sender: .max).payloads(naming: records)
        #expect(payloads.count == 3)
        #expect(payloads.allSatisfy { $0.utf8.count < 8_000 })
        #expect(payloads.flatMap(ChangeNotice(sender: 1).records) == records)
        #expect(ChangeNotice(sender: 1).payloads(naming: []).isEmpty)
    }

    @Test func `an instance does not hear itself, nor what is no notice`() {
        let notice = ChangeNotice(sender: 0xA1)
        let record = UUID()
        #expect(notice.payloads(naming: [record]).flatMap(notice.records).isEmpty)
        #expect(notice.records(in: "").isEmpty)
        #expect(notice.records(in: "a").isEmpty)
        #expect(notice.records(in: "hello world").isEmpty)
        #expect(notice.records(in: "a1x \(record.uuidString) nonsense") == [record])
    }
}

/// A watcher of a record on a loop, until it is told to end.
private struct Watcher: Sendable {
    let isSignaled: Gate
    private let over: Gate
    private let task: Task<Void, any Error>

    static func begin(on loop: EventLoop, of record: ID<Payment>, through changes: ChangeFeed) async throws -> Watcher {
        let (isWatching, isSignaled, over) = (Gate(), Gate(), Gate())
        let task = loop.task {
            let signal = LoopBound(WakeSignal(), on: loop)
            let watch = LoopBound(changes.watch(record.uuid, with: signal.value), on: loop)
            isWatching.open()
            while !over.isOpen {
                if signal.value.isSignaled { isSignaled.open() }
                try await loop.sleep(for: .milliseconds(1))
            }
            withExtendedLifetime(watch) {}
        }
        await isWatching.pass()
        return Watcher(isSignaled: isSignaled, over: over, task: task)
    }

    private init(isSignaled: Gate, over: Gate, task: Task<Void, any Error>) {
        (self.isSignaled, self.over, self.task) = (isSignaled, over, task)
    }

    func end() async {
        over.open()
        _ = await task.result
    }
}

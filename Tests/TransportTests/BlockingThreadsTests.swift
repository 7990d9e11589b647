import CLinux
import Glibc
import TestSupport
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct BlockingThreadsTests {
    private struct Fault: Error, Equatable {}

    @Test func `a name that does not exist is an error with the name`() async {
        let host = String(repeating: "x", count: 64) + ".test"
        let error = await #expect(throws: ResolutionError.self) { try await Resolver.resolve(host: host, port: 80) }
        #expect(error?.host == host)
        #expect(error?.reason.isEmpty == false)
    }

    @Test func `names and numeric addresses are resolved, with the port`() async throws {
        #expect(try await Resolver.resolve(host: "127.0.0.1", port: 80).map(\.description) == ["127.0.0.1:80"])
        #expect(try await Resolver.resolve(host: "::1", port: 80).map(\.description) == ["[::1]:80"])
        let local = try await Resolver.resolve(host: "localhost", port: 80).map(\.description)
        #expect(local.contains("127.0.0.1:80") || local.contains("[::1]:80"))
    }

    @Test func `an error comes back as it was thrown`() async {
        await #expect(throws: Fault()) {
            try await BlockingThreads.shared.run { () throws(Fault) -> Int in throw Fault() }
        }
    }

    @Test func `more work than threads is all done, and not on the loop`() async throws {
        try await withLoop { loop in
            let threads = BlockingThreads(count: 2)
            let results = await withTaskGroup { group in
                for number in 0..<100 {
                    group.addTask { await threads.run { () throws(Never) in loop.isCurrent ? -1 : number } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.sorted() == Array(0..<100))
        }
    }

    @Test func `signals arrive on the loop`() async throws {
        try await withLoop { loop in
            // Aimed at this one thread: the test's other threads would die of it.
            try Signals.block([SIGUSR1, SIGUSR2])
            let arrived = Box<[Int32]>([])
            _ = try Signals([SIGUSR1, SIGUSR2], on: loop) { signal in arrived.update { $0.append(signal) } }
            pthread_kill(pthread_self(), SIGUSR1)
            pthread_kill(pthread_self(), SIGUSR2)
            while arrived.value.count < 2 { try await loop.sleep(for: .milliseconds(1)) }
            #expect(arrived.value.sorted() == [SIGUSR1, SIGUSR2])
        }
    }
}

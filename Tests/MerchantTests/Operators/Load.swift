import HTTP
import Synchronization
import Transport

/// Clients that ask without a pause: some on connections that they keep, some on a new one each time.
final class Load: Sendable {
    private let port: UInt16
    private let isStopped = Atomic(false)
    private let isClosing = Atomic(false)
    private let answers = Atomic(0)
    private let failures = Mutex<[String]>([])

    var count: Int { answers.load(ordering: .relaxed) }

    init(port: UInt16) {
        self.port = port
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// The server was asked to end: from now on no request has to get to it, and a client that finds it closed goes.
    func expectEnd() { isClosing.store(true, ordering: .relaxed) }

    /// Asks until it is stopped, each client in turn for one of the requests.
    func run(
        _ requests: [Request] = [Request(.get, "/livez")], on loop: EventLoop
    ) async -> (answers: Int, failures: [String]) {
        await withTaskGroup { group in
            for number in 0..<6 {
                group.addTask(executorPreference: loop) { await self.ask(requests, on: loop, keeping: number < 3) }
            }
        }
        return (count, failures.withLock { $0 })
    }

    private func ask(_ requests: [Request], on loop: EventLoop, keeping: Bool) async {
        let client = HTTP.Client(origin: HTTP.URL("http://127.0.0.1:\(port)/")!.origin)
        var turn = 0
        while !isStopped.load(ordering: .relaxed) {
            turn += 1
            do throws(ClientError) {
                let answer = try await client.send(requests[turn % requests.count], deadline: .seconds(30))
                if answer.status == .ok {
                    answers.add(1, ordering: .relaxed)
                } else {
                    failures.withLock { $0.append("status \(answer.status.code)") }
                }
            } catch {
                if case .notSent = error, isClosing.load(ordering: .relaxed) { break }
                failures.withLock { $0.append("\(error)") }
            }
            if !keeping { await client.closeIdle(on: loop) }
        }
        await client.closeIdle(on: loop)
    }
}

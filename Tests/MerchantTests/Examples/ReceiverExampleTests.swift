import BelvoSandbox
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// The shop's receiver in `examples/shop-receiver`, which checks signatures with a library that others wrote.
@Suite struct ReceiverExampleTests {
    /// A Python that has the library; `./dev test` makes one.
    static let python = ProcessEnvironment["SHOP_RECEIVER_PYTHON"] ?? "/usr/bin/python3"

    static var hasLibrary: Bool {
        (try? runCommand([python, "-c", "import standardwebhooks"])) != nil
    }

    @Test(
        .enabled(
            if: ReceiverExampleTests.hasLibrary, "the example receiver is not run without PyPI's standardwebhooks"))
    func `the example receiver takes what the server signs, once, and nothing else`() async throws {
        let secret = "whsec_\(Data(repeating: 9, count: 32).base64EncodedString())"
        // Used by one task at a time: the harnesses are played one after the other, and this one waits for both.
        nonisolated(unsafe) let receiver = try Receiver(python: Self.python, secret: secret)
        defer { receiver.end() }
        try await TestHarness.open(environment: [
            "SHOP_WEBHOOK_URL": "http://127.0.0.1:\(receiver.port)/events", "SHOP_WEBHOOK_SECRET": secret,
        ]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try await deliver(on: harness)
            #expect(try receiver.line() == "enrollment.succeeded \(enrollment.id)")
            // Told again, as after a lost answer, it is known by its id.
            try await harness.database.execute("UPDATE events SET delivered_at = NULL, next_attempt_at = app_now()")
            try await deliver(on: harness)
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            try await deliver(on: harness)
            #expect(try receiver.line() == "payment.succeeded order-1")
        }
        let stranger = "whsec_\(Data(repeating: 8, count: 32).base64EncodedString())"
        try await TestHarness.open(environment: [
            "SHOP_WEBHOOK_URL": "http://127.0.0.1:\(receiver.port)/events", "SHOP_WEBHOOK_SECRET": stranger,
        ]) { harness in
            var client = try await AppClient.arrive(on: harness)
            _ = try await client.enroll()
            try await harness.work()
            let problems = try await harness.database.rows("SELECT last_problem FROM events")
            let problem: String? = try problems.first?.decode("last_problem")
            #expect(problem == "status 400")
        }
    }

    /// Works until the shop has every event. On a busy machine an attempt may find the receiver too slow, and the next
    /// one counts, as in life.
    private func deliver(on harness: TestHarness) async throws {
        for _ in 1...10 {
            try await harness.work()
            let waiting = try await harness.database.rows("SELECT last_problem FROM events WHERE delivered_at IS NULL")
            if waiting.isEmpty { return }
            try await harness.advance(by: .seconds(30))
        }
        let rows = try await harness.database.rows("SELECT last_problem FROM events WHERE delivered_at IS NULL")
        let problems: [String?] = try rows.map { try $0.decode("last_problem") }
        Issue.record("after ten attempts events still wait: \(problems)")
    }
}

/// The running example, and what it prints.
private final class Receiver {
    let port: Int
    private let process: pid_t
    private let output: Int32

    init(python: String, secret: String) throws {
        let root = String(#filePath.prefix(upTo: #filePath.range(of: "/Tests/")!.lowerBound))
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure() }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        let words = [python, "\(root)/examples/shop-receiver/receiver.py", "0"]
        let settings = ["SHOP_WEBHOOK_SECRET=\(secret)", "PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        let environment: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) }
        defer { for text in arguments + environment { free(text) } }
        var child = pid_t()
        let code = withStartAttributes {
            posix_spawn(&child, python, &actions, &$0, arguments + [nil], environment + [nil])
        }
        guard code == 0 else { throw Failure() }
        close(ends[1])
        (process, output) = (child, ends[0])
        let answer = try Receiver.line(from: output).split(separator: " ")
        guard answer.count == 2, let port = Int(answer[1]) else { throw Failure() }
        self.port = port
    }

    /// The next line that it prints. Throws when there is none for 20 seconds, or it has ended.
    func line() throws -> String { try Receiver.line(from: output) }

    func end() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        close(output)
    }

    private static func line(from descriptor: Int32) throws -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            var readiness = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&readiness, 1, 20_000) == 1, read(descriptor, &byte, 1) == 1 else { throw Failure() }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
    }

    private struct Failure: Error {}
}

private enum ProcessEnvironment {
    static subscript(name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

import Belvo
import HTTP
import Logging
import Synchronization
import TestSupport
import Testing
import Transport

@testable import MerchantAPI

/// When the list of banks is fetched, who waits for it, and what is shown meanwhile.
@Suite struct InstitutionCatalogTests {
    @Test func `the list is fetched once however many ask at once`() async throws {
        try await onStand { stand in
            let gate = stand.banks.answers("A", behind: true)
            let asked = (0..<50).map { _ in stand.loop.task { try await stand.names() } }
            await stand.banks.arrived(1)
            gate.open()
            for task in asked { try await task.shows("A") }
            #expect(stand.banks.count == 1)
        }
    }

    @Test func `the list comes although the one who asked first has hung up`() async throws {
        try await onStand { stand in
            let gate = stand.banks.answers("A", behind: true)
            let first = stand.loop.task { try await stand.names() }
            await stand.banks.arrived(1)
            first.cancel()
            let second = stand.loop.task { try await stand.names() }
            gate.open()
            try await second.shows("A")
            #expect(stand.banks.count == 1)
        }
    }

    @Test func `the list comes although the loop of the one who asked first has ended`() async throws {
        try await onStand { stand in
            let gate = stand.banks.answers("A", behind: true)
            let other = try EventLoop()
            let thread = try LoopThread.start(other, name: "other-loop")
            _ = other.task { try await stand.names() }
            await stand.banks.arrived(1)
            other.stop()
            thread.join()
            let second = stand.loop.task { try await stand.names() }
            gate.open()
            try await second.shows("A")
            #expect(stand.banks.count == 1)
        }
    }

    @Test func `a list is shown for ten minutes without a call, and then while a new one is fetched`() async throws {
        try await onStand { stand in
            stand.banks.answers("A")
            try await stand.shows("A")
            stand.pass(.seconds(599))
            try await stand.shows("A")
            #expect(stand.banks.count == 1)
            stand.pass(.seconds(2))
            let gate = stand.banks.answers("B", behind: true)
            for _ in 0..<3 { try await stand.shows("A") }
            await stand.banks.arrived(2)
            gate.open()
            await stand.catalog.finish()
            try await stand.shows("B")
            #expect(stand.banks.count == 2)
        }
    }

    @Test func `a list of an hour ago is not shown where a new one can be had`() async throws {
        try await onStand { stand in
            stand.banks.answers("A")
            try await stand.shows("A")
            stand.pass(.seconds(3_600))
            let gate = stand.banks.answers("B", behind: true)
            let asked = (0..<3).map { _ in stand.loop.task { try await stand.names() } }
            await stand.banks.arrived(2)
            gate.open()
            for task in asked { try await task.shows("B") }
            #expect(stand.banks.count == 2)
        }
    }

    @Test func `while Belvo is away the last list is shown, however old, and Belvo is asked now and then`() async throws
    {
        try await onStand { stand in
            stand.banks.answers("A")
            try await stand.shows("A")
            stand.pass(.seconds(86_400))
            stand.banks.isAway()
            try await stand.shows("A")
            // Within the pause Belvo is not asked.
            stand.pass(.seconds(4))
            for _ in 0..<3 { try await stand.shows("A") }
            #expect(stand.banks.count == 2)
            // After it one does, and no request waits for that although the list is so old.
            stand.pass(.seconds(1))
            let gate = stand.banks.answers("B", behind: true)
            try await stand.shows("A")
            await stand.banks.arrived(3)
            gate.open()
            await stand.catalog.finish()
            try await stand.shows("B")
            #expect(stand.log.all.filter { $0.hasPrefix("institutions.stale") }.count == 1)
        }
    }

    @Test func `without any list the failure is told, and Belvo is not asked by everybody`() async throws {
        try await onStand { stand in
            let gate = stand.banks.isAway(behind: true)
            let asked = (0..<50).map { _ in stand.loop.task { try await stand.names() } }
            await stand.banks.arrived(1)
            gate.open()
            for task in asked { await #expect(throws: BelvoError.self) { try await task.value } }
            await #expect(throws: BelvoError.self) { try await stand.names() }
            #expect(stand.banks.count == 1)
            stand.pass(.seconds(5))
            stand.banks.answers("A")
            try await stand.shows("A")
        }
    }

    @Test func `Belvo is left alone for as long as it asks`() async throws {
        try await onStand { stand in
            stand.banks.throttles(for: 120)
            await #expect(throws: BelvoError.self) { try await stand.names() }
            stand.pass(.seconds(119))
            await #expect(throws: BelvoError.self) { try await stand.names() }
            #expect(stand.banks.count == 1)
            stand.pass(.seconds(1))
            stand.banks.answers("A")
            try await stand.shows("A")
        }
    }

    @Test func `only active banks with Biometric Pix that is not unavailable are shown`() async throws {
        try await onStand { stand in
            func bank(_ number: Int, _ rest: String) -> String {
                #"{"id":"00000000-0000-4000-8000-00000000000\#(number)","display_name":"\#(number)",\#(rest)}"#
            }
            func methods(_ status: String) -> String {
                #""payment_methods":{"open_finance_biometric_pix":{"status":"\#(status)"}}"#
            }
            stand.banks.answers(
                body: "["
                    + [
                        bank(1, #""active":true,"# + methods("AVAILABLE")),
                        bank(2, #""active":false,"# + methods("AVAILABLE")),
                        bank(3, #""active":true,"# + methods("unavailable")),
                        bank(4, #""active":true,"# + methods("BETA")),
                        bank(5, #""active":true,"payment_methods":{"pix":{"status":"AVAILABLE"}}"#),
                        bank(6, methods("AVAILABLE")), #"{"display_name":"no id"}"#,
                        bank(7, #""active":true,"sort_priority":1,"# + methods("AVAILABLE")),
                    ].joined(separator: ",") + "]")
            try await stand.shows("7", "1", "4")
            // The log has the unknown word, and of the bank that could not be shown.
            #expect(stand.log.all.contains("institutions.status_unknown words=BETA"))
            #expect(stand.log.all.contains("institutions.left_out count=1"))
        }
    }
}

/// A catalog, Belvo as the test wants it, and a clock that stands until it is moved.
private struct Stand: Sendable {
    let loop: EventLoop
    let banks: Banks
    let catalog: InstitutionCatalog
    let log: LogRecorder
    private let clock: Box<Monotonic>

    init(loop: EventLoop) throws {
        let (banks, clock, log) = (Banks(), Box(Monotonic(nanoseconds: 0)), LogRecorder())
        let origin = try #require(URL("https://api.belvo.example/")?.origin)
        // Spelled out, since the tests have credentials of their own, and apart, since a macro cannot read a module.
        let made = Belvo.Credentials(secretID: "id", secretPassword: "password")
        let credentials = try #require(made)
        let belvo = Belvo.Client(configuration: Configuration(origin: origin, credentials: credentials)) { _, _ in
            try await banks.answer()
        }
        self.loop = loop
        self.banks = banks
        self.clock = clock
        self.log = log
        catalog = InstitutionCatalog(belvo: belvo, loop: loop, log: log.logger) { clock.value }
    }

    func names() async throws -> [String] { try await catalog.offered().map(\.displayName) }

    /// Whether these banks are shown now, in this order.
    func shows(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let shown = try await names()
        #expect(shown == expected, sourceLocation: sourceLocation)
    }

    func pass(_ duration: Duration) { clock.update { $0 = $0 + duration } }
}

extension Task<[String], any Error> {
    /// Whether a request was answered with these banks.
    fileprivate func shows(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let shown = try await value
        #expect(shown == expected, sourceLocation: sourceLocation)
    }
}

private func onStand(_ body: @escaping @Sendable (Stand) async throws -> Void) async throws {
    try await withLoop { loop in try await body(Stand(loop: loop)) }
}

/// Belvo's list of banks: answers as prepared, one a call, some only when their gate is opened. A call for which
/// nothing was prepared fails the test.
private final class Banks: Sendable {
    private struct Prepared {
        let gate: Gate
        let answer: Result<Response, ClientError>
    }

    private struct State {
        var prepared: [Prepared] = []
        var count = 0
        var arrivals: [Int: Gate] = [:]
    }

    private let state = Mutex(State())

    /// How many calls came.
    var count: Int { state.withLock(\.count) }

    @discardableResult
    func answers(_ name: String, behind isShut: Bool = false) -> Gate {
        answers(
            body: """
                [{"id":"188716fb-39ad-44a7-a992-6c278d2b24a4","display_name":"\(name)","active":true,
                "payment_methods":{"open_finance_biometric_pix":{"status":"AVAILABLE"}}}]
                """, behind: isShut)
    }

    @discardableResult
    func answers(body: String, behind isShut: Bool = false) -> Gate {
        prepare(.success(Response(.ok, body: Array(body.utf8))), isShut)
    }

    @discardableResult
    func isAway(behind isShut: Bool = false) -> Gate {
        prepare(.failure(.notSent(reason: "nobody listens")), isShut)
    }

    func throttles(for seconds: Int) {
        prepare(.success(Response(.tooManyRequests, headers: ["retry-after": "\(seconds)"])), false)
    }

    /// Returns when so many calls have come.
    func arrived(_ count: Int) async {
        await state.withLock { state in
            let gate = state.arrivals[count] ?? Gate()
            state.arrivals[count] = gate
            if state.count >= count { gate.open() }
            return gate
        }.pass()
    }

    func answer() async throws -> Response {
        let prepared = state.withLock { state -> Prepared? in
            state.count += 1
            state.arrivals[state.count]?.open()
            return state.prepared.isEmpty ? nil : state.prepared.removeFirst()
        }
        guard let prepared else {
            Issue.record("unexpected call")
            throw ClientError.notSent(reason: "nothing prepared")
        }
        await prepared.gate.pass()
        return try prepared.answer.get()
    }

    @discardableResult
    private func prepare(_ answer: Result<Response, ClientError>, _ isShut: Bool) -> Gate {
        let gate = Gate()
        if !isShut { gate.open() }
        state.withLock { $0.prepared.append(Prepared(gate: gate, answer: answer)) }
        return gate
    }
}

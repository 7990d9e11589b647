import Belvo
import FoundationEssentials
import HTTP
import MerchantModel
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// Users whose calls fail at Belvo keep no others waiting by what their apps repeat, and have their turns.
@Suite(.timeLimit(.minutes(1))) struct FailingUserTests {
    /// A gate with one place, whose calls for some users have failed so often, and a wire to those that leave it now.
    private struct Scene {
        let loop: EventLoop
        let wire = Wire()
        private let carry: BelvoGate.Carrier
        /// The answer to each call; nil where it waits for one.
        private let answer = Box<Status?>(.internalServerError)
        private let now = Box(Monotonic(nanoseconds: 0))
        private let calls = Box<[Task<Void, any Error>]>([])

        init(_ caller: Caller, on loop: EventLoop) {
            self.loop = loop
            let gate = BelvoGate.patient(callsMax: 1) { [now] in now.value }
            carry = gate.carry(for: caller) { [answer, wire] request, limit in
                if let status = answer.value { return Response(status) }
                return try await wire.send(request, limit)
            }
        }

        func call(_ name: String, _ call: Call = .readPaymentIntent, at bank: UUID = Self.bank) throws {
            let origin = try user(name).about(bank)
            let task = loop.task { [carry] in
                _ = try await CallOrigin.$current.withValue(origin) {
                    try await carry(call, request("/\(name)"), .seconds(60))
                }
            }
            calls.update { $0.append(task) }
        }

        func fail(_ names: [String], times: Int, _ call: Call = .readPaymentIntent) async throws {
            try await ask(names, times: times, call, answer: .internalServerError)
        }

        func ask(
            _ names: [String], times: Int, _ call: Call = .readPaymentIntent, answer status: Status
        ) async throws {
            answer.update { $0 = status }
            for _ in 0..<times {
                for name in names { try self.call(name, call) }
                try await finish()
                now.update { $0 = $0 + RepeatedFailures.countedTime }
            }
        }

        /// From now on calls wait for their answers, one of another user's first.
        func takeThePlace() async throws {
            answer.update { $0 = nil }
            try call("eva")
            try await wire.hasLeft(1)
        }

        /// The users of the next calls, each of which leaves when the one before is answered.
        func next(_ count: Int) async throws -> [String] {
            let before = wire.left.count
            for number in 1...count {
                wire.answer()
                try await wire.hasLeft(before + number)
            }
            return wire.left.suffix(count).map { String($0.dropFirst()) }
        }

        func finish() async throws {
            for call in calls.value { try await call.value }
            calls.update { $0 = [] }
        }

        static let bank = UUID()
    }

    @Test(arguments: [Caller.person, .background])
    func `the more calls of a user fail in a row the later the next one has its turn`(caller: Caller) async throws {
        try await withLoop { loop in
            let scene = Scene(caller, on: loop)
            defer { scene.wire.answerAll() }
            let ill = (1...2).map { "ill-\($0)" }
            // All have had as many turns.
            try await scene.ask(["hit", "once", "ana", "bia"], times: 3, answer: .ok)
            try await scene.ask(["once", "ana", "bia"], times: 1, answer: .ok)
            try await scene.ask(["ana", "bia"], times: 1, answer: .ok)
            try await scene.fail(ill, times: 5)
            try await scene.fail(["hit"], times: 2)
            try await scene.fail(["once"], times: 1)
            try await scene.takeThePlace()
            for name in ill + ["hit", "once", "ana", "bia"] { try scene.call(name) }
            await loop.comeToRest()
            #expect(Set(try await scene.next(3)) == ["once", "ana", "bia"])
            #expect(try await scene.next(1) == ["hit"])
            #expect(Set(try await scene.next(2)) == Set(ill))
            scene.wire.answer()
            try await scene.finish()
        }
    }

    @Test func `a user whose calls fail has a turn in 16 rounds of the others', however much these ask for`()
        async throws
    {
        try await withLoop { loop in
            let scene = Scene(.person, on: loop)
            defer { scene.wire.answerAll() }
            try await scene.fail(["ill"], times: 9)
            try await scene.takeThePlace()
            try scene.call("ill")
            for _ in 1...30 {
                for name in ["ana", "bia"] { try scene.call(name) }
            }
            await loop.comeToRest()
            let turns = try await scene.next(61)
            let place = try #require(turns.firstIndex(of: "ill"))
            #expect((28...44).contains(place), "\(place)")
            scene.wire.answer()
            try await scene.finish()
        }
    }

    @Test func `what is looked up for a user whose requests fail waits as well, and not what he does at another bank`()
        async throws
    {
        try await withLoop { loop in
            let scene = Scene(.background, on: loop)
            defer { scene.wire.answerAll() }
            try await scene.fail(["ill", "both"], times: 6, .createPaymentIntent)
            try await scene.takeThePlace()
            try scene.call("ill")
            try scene.call("both", at: UUID())
            for name in ["ana", "bia"] { try scene.call(name) }
            await loop.comeToRest()
            #expect(Set(try await scene.next(3)) == ["both", "ana", "bia"])
            #expect(try await scene.next(1) == ["ill"])
            scene.wire.answer()
            try await scene.finish()
        }
    }

    @Test func `where most users' calls of a kind fail the first one counts as many, until others are answered`() {
        var failures = RepeatedFailures()
        func place(_ user: UInt64) -> CallLines.Place {
            CallLines.Place(line: 0, subject: .payments, party: user, institution: 7)
        }
        var now = Monotonic(nanoseconds: 0)
        func note(_ outcome: CallOutcome.Kind, of users: ClosedRange<UInt64>, isChanging: Bool = true) {
            for user in users { failures.note(outcome, isChanging: isChanging, place(user), at: now) }
        }
        func rounds(_ user: UInt64) -> Int { failures.rounds(for: place(user), at: now) }
        note(.failed, of: 1...2)
        #expect(rounds(1) == 0)
        note(.failed, of: 3...3)
        // What is looked up says nothing of what is sent.
        note(.answered, of: 4...9, isChanging: false)
        #expect(rounds(1) == 15)
        #expect(rounds(4) == 0)
        note(.answered, of: 4...7)
        #expect(rounds(1) == 0)
        now = now + FailingInstitutions.window * 2
        note(.failed, of: 2...4)
        #expect(rounds(2) == 15)
        #expect(rounds(4) == 15)
        now = now + FailingInstitutions.window * 2
        #expect([rounds(2), rounds(4)] == [1, 0])
    }

    @Test func `users whose calls fail keep none of the same bank waiting`() async throws {
        try await withLoop { loop in
            let scene = Scene(.person, on: loop)
            defer { scene.wire.answerAll() }
            let ill = ["ill-1", "ill-2", "ill-3"]
            try await scene.fail(ill, times: 9)
            try await scene.takeThePlace()
            for name in ["ana", "bia"] { try scene.call(name, at: UUID()) }
            try scene.call("caio")
            await loop.comeToRest()
            #expect(try await scene.next(3) == ["ana", "bia", "caio"])
            scene.wire.answer()
            try await scene.finish()
        }
    }

    @Test func `who begins something waits for one round of the others where the last change failed`() {
        var failures = RepeatedFailures()
        let now = Monotonic(nanoseconds: 0)
        func place(_ line: Int) -> CallLines.Place {
            CallLines.Place(line: line, subject: .payments, party: 7, institution: 8)
        }
        let begins = place(CallLines.beginnings)
        #expect(failures.roundsOfJoining(begins, at: now) == 0)
        failures.note(.failed, isChanging: true, begins, at: now)
        #expect(failures.roundsOfJoining(begins, at: now) == 1)
        #expect(failures.roundsOfJoining(place(0), at: now) == 0)
        #expect(failures.rounds(for: begins, at: now) == 0)
        failures.note(.answered, isChanging: true, begins, at: now)
        #expect(failures.roundsOfJoining(begins, at: now) == 0)
    }

    @Test func `what was answered, or is long past, counts no more`() {
        var failures = RepeatedFailures()
        let place = CallLines.Place(line: 0, subject: .payments, party: 2, institution: 7)
        var now = Monotonic(nanoseconds: 0)
        func fail(_ outcome: CallOutcome.Kind = .failed) -> Int {
            now = now + RepeatedFailures.countedTime
            for _ in 1...3 { failures.note(outcome, isChanging: true, place, at: now) }
            return failures.rounds(for: place, at: now)
        }
        #expect((1...6).map { _ in fail() } == [0, 1, 3, 7, 15, 15])
        // What is looked up in between says nothing of what is sent.
        failures.note(.answered, isChanging: false, place, at: now)
        #expect(failures.rounds(for: place, at: now) == 15)
        failures.note(.refused, isChanging: true, place, at: now)
        #expect(failures.rounds(for: place, at: now) == 0)
        #expect(fail(.timedOut) == 1)
        now = now + RepeatedFailures.memory
        #expect(failures.rounds(for: place, at: now) == 0)
        #expect(fail() == 0)
    }

    @Test func `a list, which tells of many users' payments, goes before what is asked about one`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 1)
            let wire = Wire()
            defer { wire.answerAll() }
            let carry = gate.carry(for: .background, by: wire.send)
            func call(_ name: String, _ origin: CallOrigin) -> Task<Void, any Error> {
                loop.task {
                    _ = try await CallOrigin.$current.withValue(origin) {
                        try await carry(.findPaymentIntents, request("/\(name)"), .seconds(60))
                    }
                }
            }
            var calls = [call("eva", try user("eva"))]
            try await wire.hasLeft(1)
            for name in ["ana", "bia", "caio"] { calls.append(call(name, try user(name))) }
            calls.append(call("list", .aboutMany))
            await loop.comeToRest()
            for count in 2...5 {
                wire.answer()
                try await wire.hasLeft(count)
            }
            wire.answer()
            for call in calls { try await call.value }
            #expect(wire.left.dropFirst().first == "/list")
        }
    }
}

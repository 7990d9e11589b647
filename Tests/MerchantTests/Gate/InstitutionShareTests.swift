import Belvo
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// A bank at which calls hang does not take the places of other banks' users, and what is begun is finished first.
@Suite(.timeLimit(.minutes(1))) struct InstitutionShareTests {
    private static let bank = UUID()
    private static let otherBank = UUID()

    @Test(arguments: [
        (Caller.person, Call.authorizePaymentIntent, 32), (.person, .createEnrollment, 16),
        (.background, .completeRedirection, 8),
    ])
    func `a bank that hangs for many users leaves half of the places to users of other banks`(
        caller: Caller, hanging: Call, most: Int
    ) async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 64)
            let wire = Wire()
            let carry = gate.carry(for: caller, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func call(_ name: String, at bank: UUID, _ path: String) throws {
                let origin = try user(name).about(bank)
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(hanging, request(path), .seconds(60))
                        }
                    })
            }
            for number in 0..<40 { try call("user-\(number)", at: Self.bank, "/hangs") }
            await loop.comeToRest()
            #expect(gate.snapshot.underWay[caller] == most)
            try call("eva", at: Self.otherBank, "/eva")
            try await wire.hasLeft(most + 1)
            #expect(wire.left.last == "/eva")
            // Each that ends makes room for the next one at the same bank.
            for count in 1...41 {
                try await wire.hasLeft(count)
                wire.answer()
            }
            for call in calls { try await call.value }
        }
    }

    @Test(arguments: [8, 16, 32, 64])
    func `a bank that hangs in all kinds of calls leaves a quarter of the places, even of a few`(callsMax: Int)
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: callsMax)
            let wire = Wire()
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func call(_ name: String, at bank: UUID, _ call: Call, _ caller: Caller) throws {
                let origin = try user(name).about(bank)
                let carry = gate.carry(for: caller, by: wire.send)
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(call, request("/\(name)"), .seconds(60))
                        }
                    })
            }
            for number in 0..<callsMax {
                try call("user-\(number)", at: Self.bank, .authorizePaymentIntent, .person)
                try call("user-\(number)", at: Self.bank, .createEnrollment, .person)
                try call("user-\(number)", at: Self.bank, .readPaymentIntent, .background)
                try call("user-\(number)", at: Self.bank, .completeRedirection, .background)
            }
            await loop.comeToRest()
            let most = callsMax / 4 * 3
            #expect(wire.left.count == most)
            try call("eva", at: Self.otherBank, .createPaymentIntent, .person)
            try call("rui", at: Self.otherBank, .readPaymentIntent, .background)
            await loop.comeToRest()
            #expect(Set(wire.left.suffix(2)) == ["/eva", "/rui"])
            for count in 1...(4 * callsMax + 2) {
                try await wire.hasLeft(count)
                wire.answer()
            }
            for call in calls { try await call.value }
        }
    }

    @Test(arguments: [(Caller.person, 16), (.background, 8)])
    func `newcomers whose creation hangs leave half of the places of what is no payment to enrollments`(
        caller: Caller, most: Int
    ) async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 64)
            let wire = Wire()
            let carry = gate.carry(for: caller, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            func call(_ call: Call, _ name: String) throws {
                let origin = try user(name)
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(call, request("/\(name)"), .seconds(60))
                        }
                    })
            }
            for number in 0..<40 { try call(.createCustomer, "newcomer-\(number)") }
            await loop.comeToRest()
            #expect(gate.snapshot.underWay[caller] == most)
            try call(.completeRedirection, "eva")
            try await wire.hasLeft(most + 1)
            #expect(wire.left.last == "/eva")
            for count in 1...41 {
                try await wire.hasLeft(count)
                wire.answer()
            }
            for call in calls { try await call.value }
        }
    }

    @Test func `a call that finishes what a request has begun goes before calls that begin something`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate.patient(callsMax: 1)
            let wire = Wire()
            let carry = gate.carry(for: .person, by: wire.send)
            var calls: [Task<Void, any Error>] = []
            defer { wire.answerAll() }
            calls.append(
                loop.task {
                    _ = try await CallOrigin.$current.withValue(try user("ana")) {
                        _ = try await carry(.findCustomers, request("/ana/looks"), .seconds(60))
                        return try await CallOrigin.continuing {
                            try await carry(.createCustomer, request("/ana/makes"), .seconds(60))
                        }
                    }
                })
            try await wire.hasLeft(1)
            for name in ["bia", "caio", "duda"] {
                let origin = try user(name)
                calls.append(
                    loop.task {
                        _ = try await CallOrigin.$current.withValue(origin) {
                            try await carry(.findCustomers, request("/\(name)/looks"), .seconds(60))
                        }
                    })
            }
            await loop.comeToRest()
            wire.answer()
            try await wire.hasLeft(2)
            await loop.comeToRest()
            for count in 3...5 {
                wire.answer()
                try await wire.hasLeft(count)
            }
            wire.answer()
            for call in calls { try await call.value }
            // One that was next when the first ended has its turn; the others come after.
            let place = try #require(wire.left.firstIndex(of: "/ana/makes"))
            #expect(place <= 2)
        }
    }

    private static let hangsMax: [(Caller, Call.Subject, Int)] = [
        (.person, .payments, 16), (.person, .preparations, 8), (.background, .payments, 8),
    ]

    @Test(arguments: [1, 2], hangsMax)
    func `users whose last calls were not answered have a part of the places while others are answered`(
        timeOuts: Int, most: (caller: Caller, about: Call.Subject, ofFirst: Int)
    ) {
        let caller = most.caller
        var users = HangingUsers(callsMax: 64)
        let institutions = FailingInstitutions()
        func place(_ user: UInt64) -> CallLines.Place { CallLines.Place(line: 0, subject: most.about, party: user) }
        var now = Monotonic(nanoseconds: 0)
        for _ in 1...timeOuts {
            for user in 2...61 as ClosedRange<UInt64> {
                users.note(.timedOut, isChanging: false, caller, place(user), began: now, at: now)
            }
        }
        func taken() -> Int {
            var count = 0
            for user in 2...61 as ClosedRange<UInt64>
            where users.allows(caller, place(user), institutions, at: now) {
                users.take(caller, place(user), institutions, at: now)
                count += 1
            }
            for user in 2...61 as ClosedRange<UInt64> { users.finish(caller, place(user)) }
            return count
        }
        // Where nothing is answered all are alike.
        #expect(taken() == 60)
        users.note(.answered, isChanging: false, caller, place(100), began: now, at: now)
        let share = most.ofFirst / timeOuts
        #expect(taken() == share)
        #expect(users.allows(caller, place(100), institutions, at: now))
        #expect(users.allows(caller, place(101), institutions, at: now))
        // Who is answered is one of the others again.
        for user in 2...21 as ClosedRange<UInt64> {
            users.note(.refused, isChanging: false, caller, place(user), began: now, at: now)
        }
        #expect(taken() == 20 + share)
        now = now + HangingUsers.answeredLately
        #expect(taken() == 60)
    }

    /// A user at another institution than the sixty whose calls hang, one of whose calls hung as well.
    @Test(arguments: [true, false])
    func `a user of whom one call was not answered does not wait for those of whom all are not`(isOfTheirBank: Bool) {
        var users = HangingUsers(callsMax: 64)
        var institutions = FailingInstitutions()
        func place(_ user: UInt64, _ institution: UInt64) -> CallLines.Place {
            CallLines.Place(line: 0, subject: .payments, party: user, institution: institution)
        }
        let now = Monotonic(nanoseconds: 0)
        let sixty = (2...61 as ClosedRange<UInt64>).map { place($0, 7) }
        for there in sixty {
            users.note(.timedOut, isChanging: true, .person, there, began: now, at: now)
            institutions.note(failed: true, isChanging: true, there, at: now)
        }
        users.note(.answered, isChanging: true, .person, place(100, 8), began: now, at: now)
        institutions.note(failed: false, isChanging: true, place(100, 8), at: now)
        let innocent = place(101, isOfTheirBank ? 7 : 8)
        users.note(.timedOut, isChanging: true, .person, innocent, began: now, at: now)
        institutions.note(failed: true, isChanging: true, innocent, at: now)
        for there in sixty where users.allows(.person, there, institutions, at: now) {
            users.take(.person, there, institutions, at: now)
        }
        #expect(users.allows(.person, innocent, institutions, at: now) != isOfTheirBank)
    }

    @Test func `calls that were under way together count as one that was not answered`() {
        var users = HangingUsers(callsMax: 64)
        let institutions = FailingInstitutions()
        func place(_ user: UInt64) -> CallLines.Place { CallLines.Place(line: 0, subject: .payments, party: user) }
        let (began, now) = (Monotonic(nanoseconds: 0), Monotonic(nanoseconds: 10_000_000_000))
        users.note(.answered, isChanging: true, .person, place(100), began: now, at: now)
        for user in 2...61 as ClosedRange<UInt64> {
            for _ in 1...2 { users.note(.timedOut, isChanging: true, .person, place(user), began: began, at: now) }
        }
        var count = 0
        for user in 2...61 as ClosedRange<UInt64> where users.allows(.person, place(user), institutions, at: now) {
            users.take(.person, place(user), institutions, at: now)
            count += 1
        }
        #expect(count == 16)
    }
}

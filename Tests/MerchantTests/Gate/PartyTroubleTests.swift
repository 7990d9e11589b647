import Belvo
import HTTP
import MerchantModel
import Payments
import TestSupport
import Testing
import Transport

@testable import BelvoGate

/// A refusal of one user's calls is that user's trouble, until it concerns most.
@Suite(.timeLimit(.minutes(1))) struct PartyTroubleTests {
    @Test func `a 429 to one user's own text silences him for such calls, and all when most hear it`()
        async throws
    {
        try await withLoop { loop in
            let clock = HandClock()
            let gate = BelvoGate(
                rate: 0, callsMax: 64, log: LogRecorder().logger, now: clock.intervals.now, random: { 0 })
            let carry = gate.carry(for: .person) { request, _ in
                guard request.target.path == "/throttled" else { return Response(.ok, body: Array("{}".utf8)) }
                var response = Response(.tooManyRequests)
                response.headers.append("retry-after", "3600")
                return response
            }
            let (ana, bia, caio, duda) = (try user("ana"), try user("bia"), try user("caio"), try user("duda"))
            @Sendable func call(_ call: Call, _ origin: CallOrigin, _ path: String = "/a") async throws {
                _ = try await CallOrigin.$current.withValue(origin) {
                    try await carry(call, request(path), .seconds(1))
                }
            }
            try await loop.task {
                try await call(.completeRedirection, ana, "/throttled")
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, ana) }
                for other in [bia, caio, duda] { try await call(.completeRedirection, other) }
                #expect(gate.snapshot.quiet == nil)
                // Two are told to be silent, and two are let in.
                try await call(.completeRedirection, bia, "/throttled")
                #expect(gate.snapshot.quiet == nil)
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, bia) }
                try await call(.completeRedirection, caio, "/throttled")
                // What users were told keeps all silent for a moment; themselves for as long as they were told, but
                // that one call a minute asks again once others are let in.
                #expect(gate.snapshot.quiet == .seconds(5))
                await #expect(throws: CallHeldBack.self) { try await call(.readEnrollment, duda) }
                clock.advance(by: .seconds(61))
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, caio) }
                try await call(.completeRedirection, duda)
                try await call(.completeRedirection, caio, "/throttled")
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, caio) }
                clock.advance(by: .seconds(61))
                await #expect(throws: CallHeldBack.self) { try await call(.completeRedirection, caio) }
                try await call(.completeRedirection, duda)
                for _ in 1...2 { try await call(.completeRedirection, caio) }
                clock.advance(by: .seconds(3_601))
                try await call(.completeRedirection, ana)
                // A reading of one user's object.
                try await call(.readEnrollment, ana, "/throttled")
                #expect(gate.snapshot.quiet == nil)
                await #expect(throws: CallHeldBack.self) { try await call(.readEnrollment, ana) }
                try await call(.readEnrollment, bia)
                // One that is the same for all is kept from all, for a minute at most, and nothing else is.
                try await call(.mintWidgetToken, ana, "/throttled")
                #expect(gate.snapshot.quiet == nil)
                await #expect(throws: CallHeldBack.self) { try await call(.mintWidgetToken, bia) }
                try await call(.createPaymentIntent, ana)
                clock.advance(by: .seconds(61))
                try await call(.mintWidgetToken, bia)
            }.value
        }
    }

    @Test func `users whose calls are let in as often as they are throttled silence none but themselves`()
        async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { request, _ in
                Response(request.target.path == "/throttled" ? .tooManyRequests : .ok, body: Array("{}".utf8))
            }
            let (ana, bia) = (try user("ana"), try user("bia"))
            @Sendable func call(_ call: Call, _ origin: CallOrigin, _ path: String) async throws {
                _ = try await CallOrigin.$current.withValue(origin) {
                    try await carry(call, request(path), .seconds(1))
                }
            }
            try await loop.task {
                for (throttled, allowed) in [
                    (Call.completeRedirection, Call.createPaymentIntent), (.readEnrollment, .readPaymentIntent),
                ] {
                    for origin in [ana, bia] {
                        try await call(throttled, origin, "/throttled")
                        #expect(gate.snapshot.quiet == nil)
                        try await call(allowed, origin, "/a")
                    }
                }
            }.value
        }
    }

    @Test func `what fails in the background counts as its owner's, and for all when many are concerned`() async throws
    {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .background) { _, _ in Response(.internalServerError) }
            @Sendable func read(_ origin: CallOrigin?) async {
                _ = try? await CallOrigin.$current.withValue(origin) {
                    try await carry(.readEnrollment, request("/e"), .seconds(1))
                }
            }
            let users = try (1...3).map { try user("user-\($0)") }
            try await loop.task {
                for origin in users { for _ in 0..<20 { await read(origin) } }
                #expect(gate.snapshot.circuit == .closed)
                for _ in 0..<20 { await read(.webhooks) }
            }.value
            #expect(gate.snapshot.circuit == .open)
        }
    }

    @Test func `401 to one user's own text locks nobody out, and to three users' it does`() async throws {
        try await withLoop { loop in
            let gate = BelvoGate(rate: 0, callsMax: 64, log: LogRecorder().logger, random: { 0 })
            let carry = gate.carry(for: .person) { _, _ in Response(.unauthorized) }
            let names = ["ana", "ana", "ana", "ana", "ana", "bia", "bia", "caio"]
            var isLockedOut: [Bool] = []
            for name in names {
                let origin = try user(name)
                try await loop.task {
                    _ = try await CallOrigin.$current.withValue(origin) {
                        try await carry(.completeRedirection, request("/"), .seconds(1))
                    }
                }.value
                isLockedOut.append(gate.snapshot.isLockedOut)
            }
            #expect(isLockedOut == Array(repeating: false, count: 7) + [true])
        }
    }
}

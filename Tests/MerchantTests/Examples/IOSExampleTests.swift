import AppLoop
import BelvoSandbox
import Foundation
import FoundationNetworking
import HTTP
import JSON
import MerchantServer
import SoftwareAuthenticator
import TestSupport
import Testing

/// The example for developers of apps, against the real server: its workers run by themselves, as in a shop.
@Suite struct AppLoopTests {
    private static let bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"

    private static func play(
        _ body: @escaping @Sendable (Installation) async throws -> Void
    ) async throws {
        try await TestHarness.open(
            environment: ["POLL_INTERVAL_MS": "20"], sandbox: .demo(settleAfter: .milliseconds(5)), work: .byItself
        ) { harness in
            let app = Installation(harness: harness)
            try await body(app)
            try app.remove()
        }
    }

    private static func handset(
        _ app: Installation, _ api: MerchantAPI, phone: Phone = Phone(), fate: Fate = Fate(),
        decision: String = "approve", returnsToApp: Bool = false
    ) async throws -> Handset {
        let tenure = try await api.customer(name: "Ana Souza", identifier: "529.982.247-25")
        return Handset(
            app.harness, accountTenure: tenure, phone: phone, fate: fate, decision: decision, returnsToApp: returnsToApp
        )
    }

    private static func enrollment(_ handset: Handset, callbackURL: Address? = nil) async throws -> PendingRequest {
        .enrollment(
            at: bank, deviceName: "Ana's phone", riskSignals: try await handset.riskSignals(), callbackURL: callbackURL)
    }

    private static func payment(from enrollment: String, reference: String = "order-1") -> PendingRequest {
        .payment(from: enrollment, amount: "19.90", description: "Two coffees", reference: reference)
    }

    private static func enroll(_ app: Installation, _ api: MerchantAPI, on handset: Handset) async throws -> String {
        try await done(app.runner(api, on: handset).run(enrollment(handset))).id
    }

    /// The record of a pending request that ended well.
    private static func done(
        _ ending: RequestRunner.Ending, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Record {
        guard case .done(let record) = ending else {
            throw Unexpected(description: "\(ending)")
        }
        #expect(record.status == "SUCCEEDED", sourceLocation: sourceLocation)
        return record
    }

    private struct Unexpected: Error, CustomStringConvertible { let description: String }

    @Test func `a user enrolls and pays, and the app only does what the server says`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            #expect(try await api.banks().contains { $0.id == Self.bank && $0.displayName == "Mockbank" })
            let enrollment = try await Self.enroll(app, api, on: handset)
            #expect(try await api.enrollments(of: handset.hardware.deviceID) == [enrollment])
            let ending = try await app.runner(api, on: handset).run(Self.payment(from: enrollment))
            let payment = try Self.done(ending)
            #expect(app.harness.sandbox.countIntents(externalID: payment.id).succeeded == 1)
            #expect(try app.pendingRequests.isEmpty)
            #expect(await handset.pagesOpened == 1)
            #expect(await handset.fingerprints == 2)
            #expect(await handset.told.isEmpty)
        }
    }

    @Test func `where the bank leads back into the app, the app hands the answer on`() async throws {
        try await TestHarness.open(
            environment: ["POLL_INTERVAL_MS": "20", "CALLBACK_URLS": "https://app.shop.example/bank"],
            sandbox: .demo(settleAfter: .milliseconds(5)), work: .byItself
        ) { harness in
            let app = Installation(harness: harness)
            for callback in [CallbackForm.query, .fragment] {
                harness.sandbox.variants.callback = callback
                let api = try await app.api()
                let handset = try await Self.handset(app, api, returnsToApp: true)
                let pending = try await Self.enrollment(
                    handset, callbackURL: Address(string: "https://app.shop.example/bank"))
                _ = try Self.done(try await app.runner(api, on: handset).run(pending))
                #expect(await handset.pagesOpened == 1)
            }
            try app.remove()
        }
    }

    @Test func `a user who refuses at the bank is told that he may try again`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api, decision: "refuse")
            let ending = try await app.runner(api, on: handset).run(Self.enrollment(handset))
            guard case .failed(let record, .now) = ending else { throw Unexpected(description: "\(ending)") }
            #expect(record.status == "FAILED")
            #expect(await handset.told == [.now])
            #expect(await handset.fingerprints == 0)
            #expect(try app.pendingRequests.isEmpty)
        }
    }

    @Test func `a user without enough money is told so, and has paid nothing`() async throws {
        try await Self.play { app in
            let sandbox = app.harness.sandbox
            let api = try await app.api(line: { request, network in
                let answer = try await network(request)
                if request.url?.path.hasSuffix("/authorize") == true {
                    let intent = try #require(sandbox.calls.last { $0.endpoint == .authorizePaymentIntent }?.path)
                    try sandbox.fail(intent: String(intent.split(separator: "/").dropLast().last ?? ""))
                }
                return answer
            })
            let handset = try await Self.handset(app, api)
            let enrollment = try await Self.enroll(app, api, on: handset)
            sandbox.variants.paymentSettlement = .whenTold
            let ending = try await app.runner(api, on: handset).run(Self.payment(from: enrollment))
            guard case .failed(let record, .insufficientFunds) = ending else {
                throw Unexpected(description: "\(ending)")
            }
            #expect(await handset.told == [.insufficientFunds])
            #expect(sandbox.countIntents(externalID: record.id).succeeded == 0)
        }
    }

    @Test func `an app that is killed at any step goes on to one enrollment`() async throws {
        try await Self.play { app in
            let steady = try await app.api()
            var phone = Phone()
            var wasKilled = true
            var step = 0
            while wasKilled {
                let fate = Fate(killingAt: step)
                let first = try await Self.handset(app, steady, phone: phone, fate: fate)
                let pending = try await Self.enrollment(first)
                do {
                    _ = try await app.runner(app.api(fate: fate), on: first).run(pending)
                    wasKilled = false
                } catch is Fate.Killed {
                    let left = try app.pendingRequests
                    #expect(left.map(\.id) == [pending.id], "killed at step \(step)")
                    // The app starts again; of the old one there are only its folder and the phone's hardware.
                    let second = try await Self.handset(app, steady, phone: await first.hardware)
                    let ending = try await app.runner(steady, on: second).run(try #require(left.first))
                    _ = try Self.done(ending)
                    phone = await second.hardware
                }
                #expect(try app.pendingRequests.isEmpty)
                // Each time one more, and none beside it that was given up.
                let all = try await app.harness.app(of: "ana").send(.get, "/v1/enrollments?limit=100")
                #expect(try all.each("status", in: "results") == Array(repeating: "SUCCEEDED", count: step + 1))
                step += 1
            }
            #expect(step > 12, "the steps of an enrollment are more than these")
        }
    }

    @Test func `an app that is killed at any step goes on to one payment`() async throws {
        try await Self.play { app in
            let steady = try await app.api()
            let handset = try await Self.handset(app, steady)
            let enrollment = try await Self.enroll(app, steady, on: handset)
            var phone = await handset.hardware
            var wasKilled = true
            var step = 0
            while wasKilled {
                let fate = Fate(killingAt: step)
                let first = try await Self.handset(app, steady, phone: phone, fate: fate)
                let pending = Self.payment(from: enrollment, reference: "order-\(step)")
                var payment: Record
                do {
                    payment = try Self.done(try await app.runner(app.api(fate: fate), on: first).run(pending))
                    phone = await first.hardware
                    wasKilled = false
                } catch is Fate.Killed {
                    let left = try app.pendingRequests
                    #expect(left.map(\.id) == [pending.id], "killed at step \(step)")
                    let second = try await Self.handset(app, steady, phone: await first.hardware)
                    payment = try Self.done(
                        try await app.runner(steady, on: second).run(try #require(left.first)))
                    phone = await second.hardware
                }
                #expect(try app.pendingRequests.isEmpty)
                try await Self.expectOnePayment(payment.id, of: "order-\(step)", on: app.harness)
                step += 1
            }
            #expect(step > 6, "the steps of a payment are more than these")
        }
    }

    @Test func `a connection that breaks after the request was sent costs nobody a second payment`() async throws {
        try await Self.play { app in
            let steady = try await app.api()
            let handset = try await Self.handset(app, steady)
            let enrollment = try await Self.enroll(app, steady, on: handset)
            // Every other answer is lost, whatever it was about.
            let answers = Box(0)
            let said = Box<[String: Set<String>]>([:])
            let api = try await app.api(line: { request, network in
                if request.httpMethod == "POST", let path = request.url?.path {
                    let key = request.value(forHTTPHeaderField: "Idempotency-Key") ?? ""
                    let words = key + String(decoding: request.httpBody ?? Data(), as: UTF8.self)
                    said.update { _ = $0[path, default: []].insert(words) }
                }
                let answer = try await network(request)
                answers.update { $0 += 1 }
                if !answers.value.isMultiple(of: 2) { throw URLError(.networkConnectionLost) }
                return answer
            })
            let payment = try Self.done(try await app.runner(api, on: handset).run(Self.payment(from: enrollment)))
            #expect(answers.value >= 6)
            // Whatever was said again was said in the same words, under the same key.
            #expect(said.value.count == 2)
            #expect(said.value.values.allSatisfy { $0.count == 1 })
            #expect(await handset.fingerprints == 2)
            #expect(app.harness.countCalls(.createPaymentIntent) == 1)
            try await Self.expectOnePayment(payment.id, of: "order-1", on: app.harness)
        }
    }

    @Test func `two taps at once are one payment, and both see it succeed`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            let enrollment = try await Self.enroll(app, api, on: handset)
            let runner = try app.runner(api, on: handset)
            async let one = runner.run(Self.payment(from: enrollment))
            async let other = runner.run(Self.payment(from: enrollment))
            let ids = try await [Self.done(one).id, Self.done(other).id]
            #expect(ids[0] == ids[1])
            // One for the enrollment, and each tap asks at most once.
            #expect(await handset.fingerprints <= 3)
            try await Self.expectOnePayment(ids[0], of: "order-1", on: app.harness)
            #expect(try app.pendingRequests.isEmpty)
        }
    }

    @Test func `a token that has run out is replaced in the middle of a payment`() async throws {
        try await Self.play { app in
            let good = try #require(try await app.harness.app(of: "ana").token)
            let refused = Box<[String]>([])
            let api = try await app.api(token: { token in
                if let token { refused.update { $0.append(token) } }
                return token == nil ? "stale.token.here" : good
            })
            let handset = try await Self.handset(app, api)
            let enrollment = try await Self.enroll(app, api, on: handset)
            _ = try Self.done(try await app.runner(api, on: handset).run(Self.payment(from: enrollment)))
            #expect(!refused.value.isEmpty && Set(refused.value) == ["stale.token.here"])
        }
    }

    @Test func `a server that asks for patience gets it`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            let enrollment = try await Self.enroll(app, api, on: handset)
            app.harness.sandbox.next(.tooManyRequests(retryAfter: 7), on: .createPaymentIntent, count: 2)
            _ = try Self.done(try await app.runner(api, on: handset).run(Self.payment(from: enrollment)))
            // What Belvo asks for, and a little more, lest all come back at once.
            #expect(app.pauses.all.filter { $0 >= .seconds(7) }.count >= 2)
        }
    }

    @Test func `an answer that nobody knows yet is waited for`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            let enrollment = try await Self.enroll(app, api, on: handset)
            // Belvo is away at first. Then it makes the payment, takes the signature, and both answers are lost.
            app.harness.sandbox.next(.refused(503, code: "unavailable"), on: .createPaymentIntent)
            app.harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            app.harness.sandbox.next(.dropAnswer, on: .authorizePaymentIntent)
            let ending = try await app.runner(api, on: handset).run(Self.payment(from: enrollment))
            try await Self.expectOnePayment(Self.done(ending).id, of: "order-1", on: app.harness)
            #expect(await handset.fingerprints == 2)
        }
    }

    @Test func `what was lost on its way is brought again in the same words, and made once`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            // The server sends it twice by itself, and once more when the app has brought it again.
            for endpoint in [Endpoint.createEnrollment, .confirmEnrollment, .createPaymentIntent] {
                app.harness.sandbox.next(.dropRequest, on: endpoint, count: 2)
            }
            let enrollment = try await Self.enroll(app, api, on: handset)
            let payment = try Self.done(try await app.runner(api, on: handset).run(Self.payment(from: enrollment)))
            for endpoint in [Endpoint.createEnrollment, .confirmEnrollment, .createPaymentIntent] {
                #expect(app.harness.countCalls(endpoint) == 3, "\(endpoint)")
            }
            try await Self.expectOnePayment(payment.id, of: "order-1", on: app.harness)
            #expect(await handset.fingerprints == 2)
        }
    }

    @Test func `a request that the server refuses is forgotten, and the reason named`() async throws {
        try await Self.play { app in
            let api = try await app.api()
            let handset = try await Self.handset(app, api)
            let pending = PendingRequest.payment(
                from: "no enrollment", amount: "19.905", description: "Two coffees", reference: "order-1")
            let problem = await #expect(throws: Problem.self) {
                try await app.runner(api, on: handset).run(pending)
            }
            #expect(problem?.status == 400)
            #expect(problem?.errors?.map(\.field).sorted() == ["/amount", "/enrollment"])
            #expect(try app.pendingRequests.isEmpty)
        }
    }

    @Test func `the user is told every reason in the words of the guide, in the best of three languages`() throws {
        let rows = try Guide.lines(of: "docs/retry-reasons.md").compactMap { line in
            line.wholeMatch(of: /\| `([a-z_]+)` \| (pt-BR|en|es) \| ([^|]+) \| ([^|]+) \|/)?.output
        }
        #expect(rows.count == 3 * RetryReason.allCases.count)
        for (_, reason, language, title, sentence) in rows {
            let text = try #require(RetryReason(rawValue: String(reason))).text(in: ["fr", String(language), "de"])
            #expect(text.title == title)
            #expect(text.sentence == sentence)
        }
        #expect(RetryReason.later.text(in: ["ja"]) == RetryReason.later.text(in: ["pt"]))
        #expect(RetryReason.later.text(in: ["es-419", "en"]) == RetryReason.later.text(in: ["es"]))
    }

    /// One payment for the reference, here and at Belvo, and one signature sent.
    private static func expectOnePayment(_ id: String, of reference: String, on harness: TestHarness) async throws {
        let list = try await harness.app(of: "ana").send(.get, "/v1/payment-intents?reference=\(reference)")
        #expect(try list.each("id", in: "results") == [id])
        #expect(try list.each("status", in: "results") == ["SUCCEEDED"])
        #expect(harness.sandbox.countIntents(externalID: id).created == 1)
        #expect(harness.sandbox.countIntents(externalID: id).succeeded == 1)
    }
}

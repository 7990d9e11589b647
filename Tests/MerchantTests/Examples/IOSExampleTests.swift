import BelvoSandbox
import Foundation
import FoundationNetworking
import HTTP
import JSON
import MerchantServer
import SoftwareAuthenticator
import TestSupport
import Testing

@testable import ExamplePix

/// The loop of `examples/ios`, against the real server: its workers run by themselves, as in a shop.
@MainActor @Suite struct IOSExampleTests {
    private static let bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"

    /// Plays the body with an app of a customer of Belvo's.
    private static func play(_ body: @escaping @MainActor (Installation) async throws -> Void) async throws {
        try await TestHarness.open(
            environment: ["POLL_INTERVAL_MS": "20", "SHOP_TOKEN": Installation.shopToken, "ORDERS": "required"],
            sandbox: .demo(settleAfter: .milliseconds(5)), work: .byItself
        ) { @MainActor harness in
            let app = Installation(harness)
            try await body(app)
            #expect(try app.note == nil)
        }
    }

    /// The same where the phone has been bound to a bank, and the shop has placed order-1.
    private static func playPayment(
        _ body: @escaping @MainActor (Installation, Handset, _ enrollment: String) async throws -> Void
    ) async throws {
        try await play { app in
            let handset = Handset(app.harness)
            let enrollment = try await enroll(app.pixOfCustomer(on: handset))
            try await app.placeOrder("order-1")
            try await body(app, handset, enrollment)
        }
    }

    private static func enroll(_ pix: Pix) async throws -> String {
        try id(await pix.enroll(bank, name: "Ana's phone"))
    }

    private static func pay(_ pix: Pix, _ enrollment: String, _ reference: String = "order-1") async throws -> String {
        try id(await pix.pay(enrollment, reference: reference))
    }

    /// The id of a record that ended well.
    private static func id(_ ending: Ending?, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let ending = try #require(ending, sourceLocation: sourceLocation)
        #expect(ending.reason == nil, sourceLocation: sourceLocation)
        #expect(ending.record.text("status") == "SUCCEEDED", sourceLocation: sourceLocation)
        return ending.record.text("id")
    }

    @Test func `a user enrolls and pays, and the app only does what the server says`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            let pix = try await app.pix(on: handset)
            let banks = try #require(try await pix.banks()["results"] as? [[String: Any]])
            #expect(banks.contains { $0.text("id") == Self.bank && $0.text("display_name") == "Mockbank" })
            let payment = try await Self.pay(pix, enrollment)
            try await Self.expectOnePayment(payment, of: "order-1", on: app.harness)
            #expect(handset.pagesOpened == 1)
            #expect(handset.fingerprints == 2)
            #expect(handset.shown.last == "SUCCEEDED")
            #expect(try await pix.resume() == nil)
        }
    }

    @Test func `a user who refuses at the bank is told that he may try again`() async throws {
        try await Self.play { app in
            let handset = Handset(app.harness, decision: "refuse")
            let pix = try await app.pixOfCustomer(on: handset)
            let ending = try await pix.enroll(Self.bank, name: "Ana's phone")
            #expect(ending.reason == "now")
            #expect(handset.shown.last == "FAILED")
            #expect(handset.fingerprints == 0)
        }
    }

    @Test func `a user who takes a while at the bank has its page opened once`() async throws {
        try await Self.play { app in
            let handset = Handset(app.harness, takesTime: true)
            _ = try await app.pixOfCustomer(on: handset)
            var looks = 0
            let pix = try await app.pix(
                on: handset,
                line: { request in
                    guard let url = request.url, url.query == "wait=20" else {
                        return try await Installation.network(request)
                    }
                    looks += 1
                    if looks == 2 { try await handset.decide() }
                    if looks > 1 { return try await Installation.network(request) }
                    // Nothing has changed for so long.
                    let answer = HTTPURLResponse(url: url, statusCode: 304, httpVersion: nil, headerFields: nil)
                    return (Data(), try #require(answer))
                })
            _ = try await Self.enroll(pix)
            #expect(looks >= 2)
            #expect(handset.pagesOpened == 1)
        }
    }

    @Test(arguments: [CallbackForm.query, .fragment])
    func `an app that opens in place of the server's page hands on what the bank says`(form: CallbackForm) async throws
    {
        try await Self.play { app in
            app.harness.sandbox.variants.callback = form
            let handset = Handset(app.harness)
            let pix = try await app.pixOfCustomer(on: handset)
            var links = 0
            handset.takeLink = { link in
                links += 1
                try await returned(to: link, pix)
            }
            _ = try await Self.enroll(pix)
            #expect(links == 1)
        }
    }

    @Test func `a user without enough money is told so, and has paid nothing`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            let sandbox = app.harness.sandbox
            sandbox.variants.paymentSettlement = .whenTold
            let pix = try await app.pix(
                on: handset,
                line: { request in
                    let answer = try await Installation.network(request)
                    if request.url?.path.hasSuffix("/authorize") == true {
                        let intent = try #require(sandbox.calls.last { $0.endpoint == .authorizePaymentIntent }?.path)
                        try sandbox.fail(intent: String(intent.split(separator: "/").dropLast().last ?? ""))
                    }
                    return answer
                })
            let ending = try await pix.pay(enrollment, reference: "order-1")
            #expect(ending.reason == "insufficient_funds")
            #expect(sandbox.countIntents(externalID: ending.record.text("id")).succeeded == 0)
        }
    }

    @Test func `an app that is killed at any step goes on to one enrollment`() async throws {
        try await Self.play { app in
            var handset = Handset(app.harness)
            _ = try await app.pixOfCustomer(on: handset)
            var enrollments = 0
            var harmless = 0
            let steps = try await Self.killAtEachStep { fate in
                handset = Handset(app.harness, hardware: handset.hardware, fate: fate)
                do {
                    _ = try await Self.enroll(app.pix(on: handset, fate: fate))
                } catch is Fate.Killed {
                    // The app starts again; of the old one there are only its notebook and the phone's hardware.
                    let wasNoted = try app.note != nil
                    handset = Handset(app.harness, hardware: handset.hardware)
                    let ending = try await app.pix(on: handset).resume()
                    if wasNoted { _ = try Self.id(ending) } else { harmless += 1 }
                    if !wasNoted { enrollments -= 1 }
                }
                #expect(try app.note == nil)
                // Each time one more, and none beside it that was given up.
                enrollments += 1
                let all = try await app.harness.app(of: "ana").send(.get, "/v1/enrollments?limit=100")
                #expect(try all.each("status", in: "results") == Array(repeating: "SUCCEEDED", count: enrollments))
            }
            #expect(steps > 12, "the steps of an enrollment are more than these")
            #expect(harmless == 2, "only who is killed before the risk signals are there has asked for nothing yet")
        }
    }

    @Test func `an app that is killed at any step goes on to one payment`() async throws {
        try await Self.playPayment { app, bound, enrollment in
            var handset = bound
            var number = 0
            let steps = try await Self.killAtEachStep { fate in
                number += 1
                let reference = "order-of-step-\(number)"
                try await app.placeOrder(reference)
                handset = Handset(app.harness, hardware: handset.hardware, fate: fate)
                let payment: String
                do {
                    payment = try await Self.pay(app.pix(on: handset, fate: fate), enrollment, reference)
                } catch is Fate.Killed {
                    let note = try #require(try app.note, "killed at step \(number)")
                    handset = Handset(app.harness, hardware: handset.hardware)
                    payment = try Self.id(try await app.pix(on: handset).resume())
                    // The user is not asked for a finger twice for what may have been sent.
                    if note["made"] != nil { #expect(handset.fingerprints == 0) }
                }
                #expect(try app.note == nil)
                try await Self.expectOnePayment(payment, of: reference, on: app.harness)
            }
            #expect(steps > 6, "the steps of a payment are more than these")
        }
    }

    /// Plays the body once for each step at which the app can be killed, and once without. Returns how often.
    private static func killAtEachStep(_ body: (Fate) async throws -> Void) async throws -> Int {
        var step = 0
        while true {
            let fate = Fate(killingAt: step)
            try await body(fate)
            step += 1
            if !fate.hasKilled { return step }
        }
    }

    @Test func `a connection that breaks after the request was sent costs nobody a second payment`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            // Every other answer is lost, whatever it was about.
            var answers = 0
            var said: [String: Set<String>] = [:]
            let pix = try await app.pix(
                on: handset,
                line: { request in
                    if request.httpMethod == "POST", let path = request.url?.path {
                        let key = request.value(forHTTPHeaderField: "Idempotency-Key") ?? ""
                        let words = try JSONDocument(parsing: Array(request.httpBody ?? Data()))
                        said[path, default: []].insert("\(key) \(words.root)")
                    }
                    let answer = try await Installation.network(request)
                    answers += 1
                    if !answers.isMultiple(of: 2) { throw URLError(.networkConnectionLost) }
                    return answer
                })
            let payment = try await Self.pay(pix, enrollment)
            #expect(answers >= 6)
            // Whatever was said again was said in the same words, under the same key.
            #expect(said.count == 2)
            #expect(said.values.allSatisfy { $0.count == 1 }, "\(said)")
            #expect(handset.fingerprints == 2)
            #expect(app.harness.countCalls(.createPaymentIntent) == 1)
            try await Self.expectOnePayment(payment, of: "order-1", on: app.harness)
        }
    }

    @Test func `two taps at once are one payment, and both see it succeed`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            let pix = try await app.pix(on: handset)
            async let one = Self.pay(pix, enrollment)
            async let other = Self.pay(pix, enrollment)
            let ids = try await [one, other]
            #expect(ids[0] == ids[1])
            // One for the enrollment, and each tap asks at most once.
            #expect(handset.fingerprints <= 3)
            try await Self.expectOnePayment(ids[0], of: "order-1", on: app.harness)
        }
    }

    @Test func `a token that has run out is replaced in the middle of a payment`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            let good = try #require(try await app.harness.app(of: "ana").token)
            var refused: [String] = []
            let pix = try await app.pix(
                on: handset,
                token: { token in
                    if let token { refused.append(token) }
                    return token == nil ? "stale.token.here" : good
                })
            _ = try await Self.pay(pix, enrollment)
            #expect(!refused.isEmpty && Set(refused) == ["stale.token.here"])
        }
    }

    @Test func `a server that asks for patience gets it`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            app.harness.sandbox.next(.tooManyRequests(retryAfter: 7), on: .createPaymentIntent, count: 2)
            _ = try await Self.pay(app.pix(on: handset), enrollment)
            // What Belvo asks for, and a little more, lest all come back at once.
            #expect(app.pauses.filter { $0 >= .seconds(7) }.count >= 2)
        }
    }

    @Test func `what is not the server's answer is none`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            // Something between the app and the server answers every other request.
            var requests = 0
            let pix = try await app.pix(
                on: handset,
                line: { request in
                    requests += 1
                    if requests.isMultiple(of: 2) { return try await Installation.network(request) }
                    let url = try #require(request.url)
                    let status = requests % 4 == 1 ? 200 : 404
                    let page = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
                    return (Data("<html>Sign in to this network</html>".utf8), try #require(page))
                })
            let payment = try await Self.pay(pix, enrollment)
            #expect(requests >= 6)
            try await Self.expectOnePayment(payment, of: "order-1", on: app.harness)
        }
    }

    @Test func `an answer that nobody knows yet is waited for`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            // Belvo is away at first. Then it makes the payment, takes the signature, and both answers are lost.
            app.harness.sandbox.next(.refused(503, code: "unavailable"), on: .createPaymentIntent)
            app.harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            app.harness.sandbox.next(.dropAnswer, on: .authorizePaymentIntent)
            let payment = try await Self.pay(app.pix(on: handset), enrollment)
            try await Self.expectOnePayment(payment, of: "order-1", on: app.harness)
            #expect(handset.fingerprints == 2)
        }
    }

    @Test func `what was lost on its way is brought again in the same words, and made once`() async throws {
        try await Self.play { app in
            let handset = Handset(app.harness)
            let pix = try await app.pixOfCustomer(on: handset)
            // The server sends it twice by itself, and once more when the app has brought it again.
            for endpoint in [Endpoint.createEnrollment, .confirmEnrollment, .createPaymentIntent] {
                app.harness.sandbox.next(.dropRequest, on: endpoint, count: 2)
            }
            let enrollment = try await Self.enroll(pix)
            try await app.placeOrder("order-1")
            let payment = try await Self.pay(pix, enrollment)
            for endpoint in [Endpoint.createEnrollment, .confirmEnrollment, .createPaymentIntent] {
                #expect(app.harness.countCalls(endpoint) == 3, "\(endpoint)")
            }
            try await Self.expectOnePayment(payment, of: "order-1", on: app.harness)
            #expect(handset.fingerprints == 2)
        }
    }

    @Test func `a request that the server refuses is forgotten, and the reason named`() async throws {
        try await Self.playPayment { app, handset, enrollment in
            let pix = try await app.pix(on: handset)
            let refuser = try await app.pix(on: Handset(app.harness, decision: "refuse"))
            let failed = try await refuser.enroll(Self.bank, name: "Ana's phone").record.text("id")
            for (place, reference, code) in [
                ("no enrollment", "order-1", "invalid_request"), (enrollment, "order-2", "invalid_request"),
                (failed, "order-1", "enrollment_not_usable"),
            ] {
                let problem = await #expect(throws: Problem.self) { try await Self.pay(pix, place, reference) }
                #expect(problem?.code == code)
                #expect(try app.note == nil)
            }
            // What another user of this phone has begun is not there for this one.
            try Data(Self.pending.utf8).write(to: app.notebook)
            let problem = await #expect(throws: Problem.self) { _ = try await pix.resume() }
            #expect(problem?.status == 404)
        }
    }

    @Test func `what was begun outlives a refusal of something else, a sign-in that fails, and silence`() async throws {
        try await Self.playPayment { app, handset, _ in
            @MainActor func expectNote(
                outlives status: Int, _ request: @MainActor () async throws -> Void
            ) async throws {
                try Data(Self.pending.utf8).write(to: app.notebook)
                let problem = await #expect(throws: Problem.self) { try await request() }
                #expect(problem?.status == status)
                #expect(try Data(contentsOf: app.notebook).isEmpty == false)
            }
            let pix = try await app.pix(on: handset)
            try await expectNote(outlives: 400) { _ = try await pix.introduce(["name": ""]) }
            let stranger = try await app.pix(on: handset, token: { _ in "no token" })
            try await expectNote(outlives: 401) { _ = try await stranger.resume() }
            let remote = try await app.pix(on: handset, line: { _ in throw URLError(.notConnectedToInternet) })
            try await expectNote(outlives: 0) { _ = try await remote.resume() }
            try FileManager.default.removeItem(at: app.notebook)
        }
    }

    /// A payment that has been signed, as the notebook has it.
    private static let pending = """
        {"path": "/v1/payment-intents", "key": "tap", "body": {}, "id": "00000000-0000-4000-8000-000000000000", \
        "made": {}}
        """

    /// One payment for the reference, here and at Belvo, and one signature sent.
    private static func expectOnePayment(_ id: String, of reference: String, on harness: TestHarness) async throws {
        let list = try await harness.app(of: "ana").send(.get, "/v1/payment-intents?reference=\(reference)")
        #expect(try list.each("id", in: "results") == [id])
        #expect(try list.each("status", in: "results") == ["SUCCEEDED"])
        #expect(harness.sandbox.countIntents(externalID: id).created == 1)
        #expect(harness.sandbox.countIntents(externalID: id).succeeded == 1)
    }
}

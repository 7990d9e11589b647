import BelvoSandbox
import HTTP
import JSON
import Payments
import SoftwareAuthenticator
import Transport

/// A user with a phone, and with one app or two that do not know of each other.
///
/// An app repeats what got no answer, with the same key and the same bytes; taps twice; signs twice; gives up; and
/// comes back with another key.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class AppClient: @unchecked Sendable {
    let user: String
    private let token: String
    private let taxID: String
    private let fleet: Fleet
    private let belvo: SimulatedBelvo
    private let scheduler: Scheduler
    private var phone = Phone()
    private var enrollment: String?
    private var signals = "{}"
    /// Whether somebody may have the turn to get a token, and keep it.
    private var mayWaitForToken = false
    /// As Belvo knows the user.
    private var customer: String?

    init(user: String, token: String, taxID: String, fleet: Fleet, belvo: SimulatedBelvo, scheduler: Scheduler) {
        self.user = user
        self.token = token
        self.taxID = taxID
        self.fleet = fleet
        self.belvo = belvo
        self.scheduler = scheduler
    }

    /// Becomes a customer and registers the phone with a bank, however often something goes wrong on the way.
    func enroll(by app: Party) async {
        for _ in 0..<4 where enrollment == nil {
            await tryToEnroll(by: app)
        }
    }

    private func tryToEnroll(by app: Party) async {
        let person = #"{"name": "Ana Souza", "identifier": "\#(taxID)"}"#
        guard let customer = await insist(.put, "/v1/customer", person, by: app),
            let tenure = customer["account_tenure"]?.string
        else { return }
        self.customer = customer["belvo_id"]?.string
        signals = String(decoding: phone.riskSignals(accountTenure: tenure), as: UTF8.self)
        let request =
            #"{"institution": "\#(Self.bank)", "platform": "IOS", "name": "Phone", "risk_signals": \#(signals)}"#
        let key = "enroll-\(user)-\(scheduler.number(0...999_999))"
        if scheduler.chance(20) {
            _ = scheduler.loop.task { [self] in _ = await insist(.post, "/v1/enrollments", request, key: key, by: app) }
        }
        guard let made = await insist(.post, "/v1/enrollments", request, key: key, by: app),
            let id = made["id"]?.string
        else { return }
        guard let belvoID = await wait(for: "/v1/enrollments/\(id)", by: app, until: { $0["belvo_id"]?.string }),
            let reply = belvo.approve(belvoID)
        else { return }
        // The bank sends the browser to the server, or opens the app, which passes it on; or both, or one twice.
        let text = String(decoding: reply.body, as: UTF8.self)
        for _ in 0..<(scheduler.chance(40) ? scheduler.number(1...2) : 0) {
            let page = reply.callbackURL.dropFirst("https://shop.example".count)
            _ = scheduler.loop.task { [self] in _ = await call(.get, String(page), nil, by: app) }
        }
        if scheduler.chance(20) { _ = await call(.post, "/v1/enrollments/complete-redirection", text, by: app) }
        _ = await insist(.post, "/v1/enrollments/complete-redirection", text, by: app)
        let path = "/v1/enrollments/\(id)/fido-registration-options"
        guard let options = await wait(for: path, by: app, until: { $0["challenge"] == nil ? nil : $0.json }),
            let data = try? phone.register(options)
        else { return }
        let confirmation = #"{"confirmation_data": \#(String(decoding: data, as: UTF8.self))}"#
        _ = await insist(.post, "/v1/enrollments/\(id)/confirm", confirmation, by: app)
        let status = await wait(for: "/v1/enrollments/\(id)", by: app) { answer -> String? in
            answer["status"]?.string.flatMap { $0 == "PENDING" ? nil : $0 }
        }
        if status == "SUCCEEDED" { enrollment = id }
    }

    /// Pays what the shop asks for, or tries to.
    func pay(_ reference: String, by app: Party) async {
        for attempt in 1...3 {
            guard let enrollment else { return }
            let key = "\(app)-\(reference)-\(attempt)".replacing(" ", with: "-")
            let request = #"{"enrollment": "\#(enrollment)", "reference": "\#(reference)"}"#
            if attempt == 1 { await getTokenPerhaps(by: app) }
            if scheduler.fault(among: [.signedElsewhere]) != nil {
                await signElsewhere(request, key: key + "-elsewhere", by: app)
            }
            let getsTokenLate = scheduler.fault(among: [.tokenAfterGivingUp]) != nil
            if getsTokenLate { await openAndGiveUp(request, key: key + "-given-up", by: app) }
            if attempt == 1, scheduler.fault(among: [.manyAttempts]) != nil {
                for number in 1...25 {
                    guard await openAndGiveUp(request, key: "\(key)-\(number)", by: app) else { break }
                }
            }
            var answer: Heard?
            if scheduler.chance(20) {
                async let first = insist(.post, "/v1/payment-intents", request, key: key, by: app)
                async let second = insist(
                    .post, "/v1/payment-intents", request, key: scheduler.chance(50) ? key : key + "-again", by: app)
                let both = await (first, second)
                answer = both.0?["id"] == nil ? both.1 : both.0
            } else {
                answer = await insist(.post, "/v1/payment-intents", request, key: key, by: app)
            }
            if answer?.problem == "already_paid" { return }
            guard let id = answer?["id"]?.string else {
                await scheduler.pause(app, "thinks", for: scheduler.span(.seconds(1), .seconds(15)))
                continue
            }
            let status = await carryOn(with: id, after: attempt - 1, getsToken: getsTokenLate, by: app)
            if status == "SUCCEEDED" { return }
            if scheduler.chance(10) {
                // The first key once more, long after.
                _ = await insist(.post, "/v1/payment-intents", request, key: key, by: app)
            }
            if scheduler.chance(10) {
                // The key once more, for something else.
                let other = request.replacing(reference, with: reference + "-other")
                _ = await insist(.post, "/v1/payment-intents", other, key: key, by: app)
            }
        }
    }

    /// Whether there was an attempt to give up.
    @discardableResult
    private func openAndGiveUp(_ request: String, key: String, by app: Party) async -> Bool {
        let made = await insist(.post, "/v1/payment-intents", request, key: key, by: app)
        guard let id = made?["id"]?.string else { return false }
        _ = await insist(.post, "/v1/payment-intents/\(id)/cancel", nil, by: app)
        return true
    }

    /// Signs an attempt with a token for the SDK and comes back when the token has ended for certain: to give the
    /// attempt up, or when it is about to lapse. Belvo may be away then.
    private func signElsewhere(_ request: String, key: String, by app: Party) async {
        guard let made = await insist(.post, "/v1/payment-intents", request, key: key, by: app),
            let id = made["id"]?.string, let end = await getToken(by: app)
        else { return }
        let lapse = scheduler.elapsed + Self.signatureTime + .seconds(60)
        let mayLapse = scheduler.chance(60)
        if !mayLapse, scheduler.chance(25) {
            _ = await insist(.post, "/v1/payment-intents/\(id)/cancel", nil, by: app)
        }
        await scheduler.pause(app, "looks for the finger", for: scheduler.span(.milliseconds(100), .seconds(5)))
        belvo.signElsewhere(named: id)
        let tokenEnded = end + .seconds(125)
        let back = mayLapse ? max(tokenEnded, lapse - .seconds(scheduler.number(10...30))) : tokenEnded
        await scheduler.pause(app, "does without a token", for: max(back - scheduler.elapsed, .zero))
        if scheduler.chance(70) { belvo.goAway(for: scheduler.span(.seconds(20), .seconds(60))) }
        if !mayLapse { _ = await insist(.post, "/v1/payment-intents/\(id)/cancel", nil, by: app) }
        await scheduler.pause(app, "thinks", for: scheduler.span(.seconds(20), .seconds(90)))
    }

    /// Takes a payment that was opened to its end; its status as the app saw it last.
    private func carryOn(
        with id: String, after earlier: Int, getsToken: Bool, by app: Party
    ) async -> String? {
        let path = "/v1/payment-intents/\(id)"
        if scheduler.chance(8) { return nil }  // The user puts the phone away.
        if scheduler.chance(15) {
            _ = await insist(.post, path + "/cancel", nil, by: app)
            if scheduler.chance(50) { return nil }
        }
        let options = await wait(for: path, by: app) {
            $0["payment_method_information"]?["open_finance_biometric_pix"]?["fido_options"].flatMap {
                $0.kind == .object ? $0 : nil
            }
        }
        guard let options else { return nil }
        // A token that comes now could sign the attempts that were given up before this one was opened.
        for _ in 0...earlier { await getTokenPerhaps(by: app) }
        if getsToken {
            _ = await getToken(by: app)
            await scheduler.pause(app, "looks for the finger", for: scheduler.span(.milliseconds(100), .seconds(5)))
        }
        if scheduler.chance(20) {
            await scheduler.pause(app, "looks for the finger", for: scheduler.span(.seconds(5), .seconds(420)))
        }
        guard let body = authorization(options) else { return nil }
        if scheduler.chance(10) {
            // Somebody gives up on the other phone at the same moment.
            _ = scheduler.loop.task { [self] in _ = await insist(.post, path + "/cancel", nil, by: app) }
        }
        if scheduler.chance(20) {
            // Whatever is answered, the user tries once and gives up.
            _ = await call(.post, path + "/authorize", body, by: app)
            _ = await insist(.post, path + "/cancel", nil, by: app)
            return nil
        }
        if scheduler.chance(15) {
            let other = scheduler.chance(50) ? body : authorization(options) ?? body
            async let first = insist(.post, path + "/authorize", body, by: app)
            async let second = insist(.post, path + "/authorize", other, by: app)
            _ = await (first, second)
        } else {
            _ = await insist(.post, path + "/authorize", body, by: app)
        }
        if scheduler.chance(10) { _ = await insist(.post, path + "/cancel", nil, by: app) }
        return await wait(for: path, by: app) { answer -> String? in
            answer["status"]?.string.flatMap { $0 == "PENDING" ? nil : $0 }
        }
    }

    private func getTokenPerhaps(by app: Party) async {
        if scheduler.fault(among: [.widgetToken]) != nil { _ = await getToken(by: app) }
    }

    /// The app gets a token with which the user can sign at Belvo what was opened here; when it ends.
    private func getToken(by app: Party) async -> Duration? {
        // Who waits for somebody else's turn waits in real time, which no replay repeats: nobody has to.
        guard let customer, !mayWaitForToken else { return nil }
        mayWaitForToken = true
        guard let answer = await call(.post, "/v1/widget-token", nil, by: app), answer.code == 201 else { return nil }
        mayWaitForToken = false
        guard let text = answer["expires_at"]?.string, let moment = try? Payments.Timestamp(text)
        else { return nil }
        let end = moment - SimulatedTime.beginning
        belvo.give(tokenTo: customer, until: end)
        return end
    }

    private func authorization(_ options: JSONValue) -> String? {
        guard let assertion = try? phone.sign(options) else { return nil }
        return #"{"risk_signals": \#(signals), "assertion": \#(String(decoding: assertion, as: UTF8.self))}"#
    }

    /// How long Belvo waits for a signature (`SandboxConfiguration.consentLifetime`).
    private static let signatureTime = Duration.seconds(300)
    static let bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"
}

// What apps do with a network.
extension AppClient {
    /// An answer that an app has heard.
    struct Heard: Sendable {
        let code: Int
        let json: JSONValue?

        subscript(name: String) -> JSONValue? { json?[name] }
        var problem: String? { json?["code"]?.string }
    }

    /// Sends the same again until something definite comes back, six times at most.
    private func insist(
        _ method: HTTP.Method, _ path: String, _ body: String?, key: String? = nil, by app: Party
    ) async -> Heard? {
        var last: Heard?
        for attempt in 1...6 {
            if attempt > 1 {
                await scheduler.pause(app, "waits", for: scheduler.span(.milliseconds(200), .seconds(4)))
            }
            guard let heard = await call(method, path, body, key: key, by: app) else { continue }
            last = heard
            let isDefinite = heard.code < 500 && heard.code != 429 && heard.problem != "in_progress"
            if isDefinite, heard.code != 202 || scheduler.chance(50) { break }
        }
        return last
    }

    /// Looks until there is what is looked for, ten times at most.
    private func wait<Found>(
        for path: String, by app: Party, until found: (Heard) -> Found?
    ) async -> Found? {
        for _ in 0..<10 {
            if let heard = await call(.get, path, nil, by: app), heard.code == 200 {
                if let found = found(heard) { return found }
                if heard["status"]?.string == "FAILED" { return nil }
            }
            await scheduler.pause(app, "waits", for: scheduler.span(.seconds(1), .seconds(4)))
        }
        return nil
    }

    private func call(
        _ method: HTTP.Method, _ path: String, _ body: String?, key: String? = nil, by app: Party
    ) async -> Heard? {
        var request = Request(
            method, Target(stringLiteral: path), headers: ["authorization": "Bearer \(token)"],
            body: Array((body ?? "").utf8))
        if body != nil { request.headers.append("content-type", "application/json") }
        if let key { request.headers.append("idempotency-key", key) }
        guard let response = await fleet.send(request, of: user, by: app) else { return nil }
        return Heard(code: response.status.code, json: try? JSONDocument(parsing: response.body).root)
    }
}

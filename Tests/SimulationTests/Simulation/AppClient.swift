import AppRequests
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
    private var signals = Array("{}".utf8)
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
        guard let customer = await insist(.putCustomer(name: "Ana Souza", taxNumber: taxID), by: app),
            let tenure = customer["account_tenure"]?.string
        else { return }
        self.customer = customer["belvo_id"]?.string
        signals = phone.riskSignals(accountTenure: tenure)
        let request = AppRequest.createEnrollment(
            institution: Self.bank, riskSignals: signals, key: "enroll-\(user)-\(scheduler.number(0...999_999))")
        if scheduler.chance(20) {
            _ = scheduler.loop.task { [self] in _ = await insist(request, by: app) }
        }
        guard let made = await insist(request, by: app),
            let id = made["id"]?.string
        else { return }
        guard let belvoID = await wait(for: .readEnrollment(id), by: app, until: { $0["belvo_id"]?.string }),
            let reply = belvo.approve(belvoID)
        else { return }
        // The bank sends the browser to the server, or opens the app, which passes it on; or both, or one twice.
        for _ in 0..<(scheduler.chance(40) ? scheduler.number(1...2) : 0) {
            let page = reply.callbackURL.dropFirst("https://shop.example".count)
            _ = scheduler.loop.task { [self] in _ = await openPage(String(page), by: app) }
        }
        if scheduler.chance(20) { _ = await call(.completeRedirection(reply.body), by: app) }
        _ = await insist(.completeRedirection(reply.body), by: app)
        guard
            let options = await wait(
                for: .readRegistrationOptions(of: id), by: app, until: { $0["challenge"] == nil ? nil : $0.json }),
            let data = try? phone.register(options)
        else { return }
        _ = await insist(.confirmEnrollment(id, confirmationData: data), by: app)
        let status = await wait(for: .readEnrollment(id), by: app) { answer -> String? in
            answer["status"]?.string.flatMap { $0 == "PENDING" ? nil : $0 }
        }
        if status == "SUCCEEDED" { enrollment = id }
    }

    /// Pays what the shop asks for, or tries to.
    func pay(_ reference: String, by app: Party) async {
        for attempt in 1...3 {
            guard let enrollment else { return }
            let key = "\(app)-\(reference)-\(attempt)".replacing(" ", with: "-")
            let opening: @Sendable (String) -> AppRequest = { key in
                AppRequest.createPayment(from: enrollment, reference: reference, amount: nil, key: key)
            }
            if attempt == 1 { await getTokenPerhaps(by: app) }
            if scheduler.fault(among: [.signedElsewhere]) != nil {
                await signElsewhere(opening(key + "-elsewhere"), by: app)
            }
            let getsTokenLate = scheduler.fault(among: [.tokenAfterGivingUp]) != nil
            if getsTokenLate { await openAndGiveUp(opening(key + "-given-up"), by: app) }
            if attempt == 1, scheduler.fault(among: [.manyAttempts]) != nil {
                for number in 1...25 {
                    guard await openAndGiveUp(opening("\(key)-\(number)"), by: app) else { break }
                }
            }
            var answer: AppAnswer?
            if scheduler.chance(20) {
                async let first = insist(opening(key), by: app)
                async let second = insist(opening(scheduler.chance(50) ? key : key + "-again"), by: app)
                let both = await (first, second)
                answer = both.0?["id"] == nil ? both.1 : both.0
            } else {
                answer = await insist(opening(key), by: app)
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
                _ = await insist(opening(key), by: app)
            }
            if scheduler.chance(10) {
                // The key once more, for something else.
                let other = AppRequest.createPayment(
                    from: enrollment, reference: reference + "-other", amount: nil, key: key)
                _ = await insist(other, by: app)
            }
        }
    }

    /// Whether there was an attempt to give up.
    @discardableResult
    private func openAndGiveUp(_ request: AppRequest, by app: Party) async -> Bool {
        let made = await insist(request, by: app)
        guard let id = made?["id"]?.string else { return false }
        _ = await insist(.cancelPayment(id), by: app)
        return true
    }

    /// Signs an attempt with a token for the SDK and comes back when the token has ended for certain: to give the
    /// attempt up, or when it is about to lapse. Belvo may be away then.
    private func signElsewhere(_ request: AppRequest, by app: Party) async {
        guard let made = await insist(request, by: app),
            let id = made["id"]?.string, let end = await getToken(by: app)
        else { return }
        let lapse = scheduler.elapsed + Self.signatureTime + .seconds(60)
        let mayLapse = scheduler.chance(60)
        if !mayLapse, scheduler.chance(25) {
            _ = await insist(.cancelPayment(id), by: app)
        }
        await scheduler.pause(app, "looks for the finger", for: scheduler.span(.milliseconds(100), .seconds(5)))
        belvo.signElsewhere(named: id)
        let tokenEnded = end + .seconds(125)
        let back = mayLapse ? max(tokenEnded, lapse - .seconds(scheduler.number(10...30))) : tokenEnded
        await scheduler.pause(app, "does without a token", for: max(back - scheduler.elapsed, .zero))
        if scheduler.chance(70) { belvo.goAway(for: scheduler.span(.seconds(20), .seconds(60))) }
        if !mayLapse { _ = await insist(.cancelPayment(id), by: app) }
        await scheduler.pause(app, "thinks", for: scheduler.span(.seconds(20), .seconds(90)))
    }

    /// Takes a payment that was opened to its end; its status as the app saw it last.
    private func carryOn(
        with id: String, after earlier: Int, getsToken: Bool, by app: Party
    ) async -> String? {
        if scheduler.chance(8) { return nil }  // The user puts the phone away.
        if scheduler.chance(15) {
            _ = await insist(.cancelPayment(id), by: app)
            if scheduler.chance(50) { return nil }
        }
        let options = await wait(for: .readPayment(id), by: app) {
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
        guard let signed = authorization(of: id, options) else { return nil }
        if scheduler.chance(10) {
            // Somebody gives up on the other phone at the same moment.
            _ = scheduler.loop.task { [self] in _ = await insist(.cancelPayment(id), by: app) }
        }
        if scheduler.chance(20) {
            // Whatever is answered, the user tries once and gives up.
            _ = await call(signed, by: app)
            _ = await insist(.cancelPayment(id), by: app)
            return nil
        }
        if scheduler.chance(15) {
            let other = scheduler.chance(50) ? signed : authorization(of: id, options) ?? signed
            async let first = insist(signed, by: app)
            async let second = insist(other, by: app)
            _ = await (first, second)
        } else {
            _ = await insist(signed, by: app)
        }
        if scheduler.chance(10) { _ = await insist(.cancelPayment(id), by: app) }
        return await wait(for: .readPayment(id), by: app) { answer -> String? in
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
        guard let answer = await call(.createWidgetToken, by: app), answer.status == 201 else { return nil }
        mayWaitForToken = false
        guard let text = answer["expires_at"]?.string, let moment = try? Payments.Timestamp(text)
        else { return nil }
        let end = moment - SimulatedTime.beginning
        belvo.give(tokenTo: customer, until: end)
        return end
    }

    private func authorization(of payment: String, _ options: JSONValue) -> AppRequest? {
        guard let assertion = try? phone.sign(options) else { return nil }
        return .authorizePayment(payment, riskSignals: signals, assertion: assertion)
    }

    /// How long Belvo waits for a signature (`SandboxConfiguration.consentLifetime`).
    private static let signatureTime = Duration.seconds(300)
    static let bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"
}

// What apps do with a network.
extension AppClient {
    /// Sends the same again until something definite comes back, six times at most.
    private func insist(_ request: AppRequest, by app: Party) async -> AppAnswer? {
        var last: AppAnswer?
        for attempt in 1...6 {
            if attempt > 1 {
                await scheduler.pause(app, "waits", for: scheduler.span(.milliseconds(200), .seconds(4)))
            }
            guard let heard = await call(request, by: app) else { continue }
            last = heard
            if !heard.isForNow, heard.status != 202 || scheduler.chance(50) { break }
        }
        return last
    }

    /// Looks until there is what is looked for, ten times at most.
    private func wait<Found>(
        for request: AppRequest, by app: Party, until found: (AppAnswer) -> Found?
    ) async -> Found? {
        for _ in 0..<10 {
            if let heard = await call(request, by: app), heard.status == 200 {
                if let found = found(heard) { return found }
                if heard["status"]?.string == "FAILED" { return nil }
            }
            await scheduler.pause(app, "waits", for: scheduler.span(.seconds(1), .seconds(4)))
        }
        return nil
    }

    private func call(_ request: AppRequest, by app: Party) async -> AppAnswer? {
        await fleet.send(request.message(token: token), of: user, by: app).map { AppAnswer($0) }
    }

    /// The user's browser opens a page of the server.
    private func openPage(_ target: String, by app: Party) async {
        _ = await fleet.send(Request(.get, Target(stringLiteral: target)), of: user, by: app)
    }
}

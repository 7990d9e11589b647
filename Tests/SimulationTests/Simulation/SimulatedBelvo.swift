import HTTP
import JSON
import Transport

@testable import BelvoSandbox

/// Belvo in a simulation: the sandbox, reached without sockets, over a network on which everything goes wrong.
///
/// What it has seen is the truth that the servers are judged by.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class SimulatedBelvo: @unchecked Sendable {
    let sandbox: Sandbox
    private let scheduler: Scheduler
    /// One-shot calls by what they are about, in their order.
    private var attempts: [String: [Attempt]] = [:]
    private(set) var openings: [Opening] = []
    /// Intents that Belvo shows otherwise than they were asked for, and how.
    private(set) var falsified: [String: BelvoSandbox.Fault] = [:]
    /// Those that were, at some time.
    private(set) var everFalsified: Set<String> = []
    /// Intents that somebody authorized at Belvo without us, with a token for the SDK, and when.
    private(set) var signedElsewhere: [String: Duration] = [:]
    /// Those of them about which the bank decides after everything else.
    private var undecided: Set<String> = []
    /// Intents whose last word Belvo has taken back.
    private(set) var takenBack: Set<String> = []
    /// The intents of which a charge has collected before they were paid.
    private(set) var collectedAhead: Set<String> = []
    /// When each of them was.
    private(set) var takenBackAt: [String: Duration] = [:]
    /// The tokens for the SDK that apps have heard.
    private var tokens: [Token] = []
    /// Signatures that reached Belvo, and what was there already.
    private(set) var authorizations: [Opening] = []
    /// When servers have heard how an intent stands.
    private(set) var readings: [String: [Duration]] = [:]
    private(set) var violations: [String] = []
    private var awayUntil = Duration.zero
    /// What somebody does while a server asks for the enrollment on which a payment is to be opened.
    var meanwhile: @Sendable () async -> Void = {}

    /// A call that may be made once, unless it moves no money and Belvo has shown since that it has not arrived.
    private final class Attempt {
        /// Whether the server has heard that it certainly had no effect.
        var leftNothing = false
        /// Whether a server has read since that there is nothing of it.
        var isShownAbsent = false
        /// The body, and the key where there is one.
        let words: [UInt8]

        init(_ request: Request) {
            words = request.body + Array((request.headers["belvo-idempotency-key"] ?? "").utf8)
        }
    }

    /// Calls that were sent again after Belvo had shown that they had not arrived.
    private(set) var resendings = 0

    /// An intent was opened or authorized, and these were there already.
    struct Opening {
        let externalID: String
        let others: [PaymentIntent]
        /// When it was done.
        let time: Duration
    }

    /// A token for the SDK, held by an app of the user whom Belvo knows by the customer's id.
    private struct Token {
        let customer: String
        let beginning: Duration
        let end: Duration
    }

    /// A user has a token for the SDK from now on, for so long.
    func give(tokenTo customer: String, until end: Duration) {
        tokens.append(Token(customer: customer, beginning: scheduler.elapsed, end: end))
    }

    /// Whether its user holds a token with which an intent can be signed without us; with `begun` one that the user's
    /// app had heard before that.
    func isSignable(_ intent: PaymentIntent, at time: Duration, begun: Duration? = nil) -> Bool {
        tokens.contains {
            $0.customer == intent.customer && $0.beginning < begun ?? time && time < $0.end
        }
    }

    private func isSignable(_ intent: PaymentIntent) -> Bool { isSignable(intent, at: scheduler.elapsed) }

    private func opening(_ externalID: String?, beside others: [PaymentIntent]) -> Opening {
        Opening(externalID: externalID ?? "", others: others, time: scheduler.elapsed)
    }

    init(sandbox: Sandbox, scheduler: Scheduler) {
        self.sandbox = sandbox
        self.scheduler = scheduler
    }

    var intents: [PaymentIntent] { sandbox.withState { $0.intents.all } }
    var enrollments: [Enrollment] { sandbox.withState { $0.enrollments.all } }

    /// Carries one request of a server's, as `HTTP.Client` does.
    func carry(_ request: Request, within limit: Duration, from server: Party) async throws -> Response {
        let name = "\(request.method) \(request.target.path.dropFirst("/payments/br".count))"
        // The gate has taken off a few microseconds of real time, which nothing here may depend on.
        let limit = Duration.milliseconds((limit.wholeNanoseconds + 499_999_999) / 500_000_000 * 500)
        let deadline = scheduler.elapsed + limit
        await scheduler.pause(server, "asks Belvo: \(name)")
        if scheduler.elapsed < awayUntil {
            // What was under way when it went may have arrived.
            guard scheduler.chance(50) else { throw ClientError.notSent(reason: "connection refused") }
            _ = begin(request)
            throw ClientError.answerLost(reason: "connection reset")
        }
        if request.method == .get, request.target.path.contains("/enrollments/"),
            scheduler.fault(among: [.priceChangesMeanwhile]) != nil
        {
            _ = scheduler.loop.task { [meanwhile] in await meanwhile() }
        }
        let fault = scheduler.elapsed > deadline ? .belvoRefusesConnection : misfortune(of: request)
        if fault == .belvoRefusesConnection { throw ClientError.notSent(reason: "connection refused") }
        let attempt = begin(request)
        if fault == .belvoRequestLost { throw ClientError.answerLost(reason: "connection reset") }
        if fault == .belvoWorksLate {
            let delay = scheduler.span(.seconds(1), .seconds(30))
            _ = scheduler.loop.task { [self] in
                await scheduler.pause(.fate("network"), "delivers late: \(name)", for: delay)
                _ = await self.answer(to: request, nil)
            }
        }
        if fault == .belvoNeverAnswers || fault == .belvoWorksLate {
            await scheduler.pause(server, "has waited for Belvo in vain: \(name)", for: limit)
            throw ClientError.timedOut
        }
        let readOf = reading(of: request)
        let answer = await answer(to: request, fault)
        // Until after the grace time within which lists may lag.
        if fault == .belvoAwayAfterLoss { goAway(for: scheduler.span(.seconds(60), .seconds(200))) }
        let wait = fault == .belvoAnswersTooLate ? deadline - scheduler.elapsed + .milliseconds(1) : .zero
        await scheduler.pause(
            server, "hears from Belvo: \(name): \(answer.response.status.code)", for: max(wait, .zero))
        guard scheduler.elapsed <= deadline else { throw ClientError.timedOut }
        guard fault != .belvoAnswerLost, fault != .belvoAwayAfterLoss, answer.delivery == .whole else {
            throw ClientError.answerLost(reason: "the answer broke off")
        }
        if fault == .heldUpAfterRefusal { await holdUp(server, after: request) }
        attempt?.leftNothing = [401, 403, 404, 425, 429].contains(answer.response.status.code)
        // A customer's record is tried again after a refusal; others are made anew.
        if request.target.path.hasSuffix("/customers/"), (400...499).contains(answer.response.status.code) {
            attempt?.leftNothing = answer.response.status.code != 408
        }
        if let readOf, answer.response.status.isSuccess, readOf.isAbsent(in: answer.response) {
            readOf.attempt.isShownAbsent = true
        }
        if request.method == .get, answer.response.status.isSuccess {
            for intent in intents where request.target.path.contains(intent.id) {
                readings[intent.id, default: []].append(scheduler.elapsed)
            }
        }
        return answer.response
    }

    /// What befalls a call: where it can do most harm, or anywhere.
    private func misfortune(of request: Request) -> Fault? {
        let isPosted = request.method == .post
        var aimed: [Fault] = []
        if isPosted, request.target.path.hasSuffix("/payment-intents/") { aimed = [.belvoAwayAfterLoss] }
        if isPosted, request.target.path.hasSuffix("/authorize/") {
            aimed = [.heldUpAfterRefusal, .signatureTakenAndRefused]
        }
        return scheduler.fault(among: aimed) ?? scheduler.fault(among: Fault.atBelvo)
    }

    /// The latest sending of what the request reads, as a list by its `external_id` or by itself, and how its absence
    /// shows. What is sent later is not spoken of by the answer.
    private func reading(of request: Request) -> Reading? {
        guard request.method == .get else { return nil }
        let path = request.target.path
        if let name = request.target.query?.split(separator: "external_id=").last.map({ $0.prefix(36) }),
            let attempt = attempts["\(path) \(name)"]?.last
        {
            return Reading(attempt: attempt, name: String(name))
        }
        return attempts[path + "confirm/"]?.last.map { Reading(attempt: $0, name: nil) }
    }

    private struct Reading {
        let attempt: Attempt
        /// Nil for an enrollment that is read by itself: pending it may lack its registration.
        let name: String?

        func isAbsent(in response: Response) -> Bool {
            guard let root = try? JSONDocument(parsing: response.body).root else { return false }
            guard let name else { return root["status"]?.string == "PENDING" }
            let text = String(decoding: response.body, as: UTF8.self)
            return (root.kind == .array || root["results"] != nil) && !text.contains(name)
        }
    }

    /// A one-shot call begins. It may do so again only if the one before certainly had no effect, or, where it moves no
    /// money, if Belvo has shown since that it has not arrived: then in the same words.
    private func begin(_ request: Request) -> Attempt? {
        guard request.method == .post else { return nil }
        let path = request.target.path
        let subject: String
        if path.hasSuffix("/authorize/") || path.hasSuffix("/confirm/") {
            subject = path
        } else if path.hasSuffix("/payment-intents/") || path.hasSuffix("/enrollments/")
            || path.hasSuffix("/customers/")
        {
            let body = try? JSONDocument(parsing: request.body).root
            subject = "\(path) \(body?["external_id"]?.string ?? "without external_id")"
        } else {
            return nil
        }
        let attempt = Attempt(request)
        if let last = attempts[subject]?.last {
            // Who was paused between reading and sending, or whose clock has leapt, cannot know that others were
            // faster.
            let isExcused =
                scheduler.elapsed < scheduler.disturbedUntil + .seconds(60) && !path.hasSuffix("/authorize/")
            if !last.leftNothing, !last.isShownAbsent, !isExcused {
                violations.append("sent blindly a second time: \(subject)")
            }
            if !last.leftNothing { resendings += 1 }
            // The key, the name and all else; another registration or signature may follow what was not let in.
            if last.words != attempt.words, !last.leftNothing || !path.hasSuffix("/confirm/"),
                !path.hasSuffix("/authorize/")
            {
                violations.append("sent again in other words: \(subject)")
            }
        }
        if path.hasSuffix("/authorize/"), let intent = intents.first(where: { path.contains($0.id) }) {
            authorizations.append(opening(intent.externalID, beside: intents))
        }
        attempts[subject, default: []].append(attempt)
        return attempt
    }

    private func answer(to request: Request, _ fault: Fault?) async -> SandboxAnswer {
        if let plan = plan(fault, for: request) ?? falsification(of: request) {
            sandbox.next(plan, on: nil)
        }
        let before = intents
        let answer = await sandbox.respond(to: request)
        if let opened = intents.last, intents.count > before.count {
            openings.append(opening(opened.externalID, beside: before))
            if scheduler.fault(among: [.belvoDiffers]) != nil {
                everFalsified.insert(opened.id)
                falsified[opened.id] = scheduler.pick([
                    .otherAmount, .otherCurrency, .otherCustomer, .otherBeneficiary, .otherEnrollment, .otherExternalID,
                ])
            }
        }
        return answer
    }

    /// The fault in the sandbox's words.
    private func plan(_ fault: Fault?, for request: Request) -> BelvoSandbox.Fault? {
        switch fault {
        case .belvo4xxAfter?, .signatureTakenAndRefused?:
            scheduler.pick([400, 401, 403, 404, 409, 410, 422, 425, 429]).map { .statusAfter($0) }
        case .belvoFailedOfAnother?:
            request.method == .get && intents.contains(where: { request.target.path.contains($0.id) })
                ? .altered([
                    .init("/status", #""FAILED""#), .init("/amount", #""0.01""#),
                    .init("/external_id", #""99999999-9999-4999-8999-999999999999""#),
                ]) : nil
        default: fault?.atSandbox
        }
    }

    /// How the intent is shown that the request reads, by itself or in a list of its `external_id`.
    private func falsification(of request: Request) -> BelvoSandbox.Fault? {
        guard request.method == .get else { return nil }
        let target = request.target
        return intents.lazy.compactMap { [falsified] intent in
            falsified[intent.id].flatMap { fault in
                let isNamed = intent.externalID.map { target.query?.contains($0) ?? false } ?? false
                return target.path.contains(intent.id) || isNamed ? fault : nil
            }
        }.first
    }

    /// A server that was refused a signature is slow to record it, and what it was for is paid with a widget token.
    private func holdUp(_ server: Party, after request: Request) async {
        guard let intent = intents.first(where: { request.target.path.contains($0.id) && !$0.status.isTerminal })
        else { return }
        if isSignable(intent) { signElsewhere(intent) }
        await scheduler.pause(
            server, "comes to itself after a refusal", for: scheduler.span(.seconds(5), .seconds(60)))
    }

    /// The user signs the intent of one of our payments with a token, and the bank takes its time. Nothing is done
    /// without a token.
    func signElsewhere(named externalID: String) {
        guard let intent = intents.first(where: { $0.externalID == externalID }), !intent.isAuthorized,
            !intent.status.isTerminal, isSignable(intent)
        else { return }
        signElsewhere(intent, isSlow: true)
    }

    /// The bank pays at once, or is at it for long; of that a webhook tells, or none.
    private func signElsewhere(_ intent: PaymentIntent, isSlow: Bool = false) {
        scheduler.note("somebody else signs intent \(intent.id)")
        signedElsewhere[intent.id] = scheduler.elapsed
        guard isSlow || scheduler.chance(50) else {
            try? sandbox.settle(intent: intent.id)
            return
        }
        undecided.insert(intent.id)
        let isTold = scheduler.chance(30)
        sandbox.change { dependencies in
            dependencies.intents.change(intent.id) {
                $0.isAuthorized = true
                if !isTold { $0.status = .processing }
            }
            if isTold { dependencies.turnIntent(intent.id, to: .processing) }
        }
    }

    /// Nobody reaches Belvo for a while.
    func goAway(for time: Duration? = nil) {
        awayUntil = scheduler.elapsed + (time ?? scheduler.span(.seconds(20), .seconds(150)))
    }

    /// Whatever was falsified is shown as it is, and whoever was away is back.
    func correct() {
        sandbox.variants.listStateLagMilliseconds = 0
        sandbox.variants.listOrder = .newestFirst
        sandbox.variants.listEnd = .whole
        awayUntil = .zero
        falsified = [:]
        sandbox.clearFaults()
    }
}

// The bank behind Belvo, and the people at it.
extension SimulatedBelvo {
    /// Something that waits for the bank comes to an end, if it is chosen.
    func decideSomething() {
        if let intent = scheduler.pick(
            intents.filter { $0.isAuthorized && !$0.status.isTerminal && !undecided.contains($0.id) })
        {
            decide(intent)
        }
        if let enrollment = scheduler.pick(enrollments.filter { $0.credential != nil && $0.status == .pending }) {
            try? sandbox.settle(enrollment: enrollment.id)
        }
        if let enrollment = scheduler.pick(enrollments.filter { $0.status == .succeeded }), scheduler.chance(30),
            scheduler.fault(among: [.bankRevokes]) != nil
        {
            scheduler.note("the bank takes enrollment \(enrollment.id) back")
            try? sandbox.revoke(enrollment: enrollment.id)
        }
        if let intent = scheduler.pick(
            intents.filter { !$0.isAuthorized && !$0.status.isTerminal && isSignable($0) }),
            scheduler.fault(among: [.belvoPaidElsewhere]) != nil
        {
            signElsewhere(intent)
        }
        if let intent = scheduler.pick(
            intents.filter {
                !$0.status.isTerminal && ($0.isAuthorized || isSignable($0)) && !collectedAhead.contains($0.id)
            }),
            scheduler.fault(among: [.belvoCollectsAhead]) != nil
        {
            collectAhead(intent)
        }
        if let intent = scheduler.pick(
            intents.filter { $0.isAuthorized && $0.status.isTerminal && !takenBack.contains($0.id) }),
            scheduler.chance(20), scheduler.fault(among: [.belvoTakesBack]) != nil
        {
            takeBack(intent)
        }
    }

    /// A charge collects, and a webhook tells so; Belvo shows the intent as it was until the storm is over, and then as
    /// paid.
    private func collectAhead(_ intent: PaymentIntent) {
        scheduler.note("a charge of intent \(intent.id) collects ahead of it")
        if !intent.isAuthorized { signedElsewhere[intent.id] = scheduler.elapsed }
        undecided.insert(intent.id)
        collectedAhead.insert(intent.id)
        sandbox.change { dependencies in
            dependencies.intents.change(intent.id) { $0.isAuthorized = true }
            dependencies.charges.change(intent.charge) { $0.status = .succeeded }
            if let charge = dependencies.charges[intent.charge] { dependencies.announce(charge) }
        }
    }

    /// Belvo says the opposite of its last word.
    private func takeBack(_ intent: PaymentIntent) {
        scheduler.note("Belvo takes its last word on intent \(intent.id) back")
        takenBack.insert(intent.id)
        takenBackAt[intent.id] = scheduler.elapsed
        sandbox.change { dependencies in
            dependencies.intents.change(intent.id) { $0.status = .processing }
            if intent.status == .succeeded {
                dependencies.failIntent(intent.id, .insufficientFunds)
            } else {
                dependencies.succeedIntent(intent.id)
            }
        }
    }

    /// What nobody has signed lapses at Belvo by itself, after long.
    func letLapse() {
        for intent in intents where !intent.isAuthorized && !intent.status.isTerminal {
            try? sandbox.cancel(intent: intent.id)
        }
    }

    /// All that waits for the bank comes to an end.
    func decideEverything() {
        for intent in intents where intent.isAuthorized && !intent.status.isTerminal { decide(intent) }
        for enrollment in enrollments where enrollment.credential != nil && enrollment.status == .pending {
            try? sandbox.settle(enrollment: enrollment.id)
        }
    }

    private func decide(_ intent: PaymentIntent) {
        if collectedAhead.contains(intent.id) || scheduler.chance(70) {
            scheduler.note("the bank pays intent \(intent.id)")
            try? sandbox.settle(intent: intent.id)
        } else {
            scheduler.note("the bank does not pay intent \(intent.id)")
            try? sandbox.fail(intent: intent.id)
        }
    }

    /// The user agrees at the bank; what the bank hands back for the app, as a body.
    func approve(_ enrollment: String) -> BankReply? {
        try? sandbox.decide(enrollment: enrollment, .approve)
    }
}

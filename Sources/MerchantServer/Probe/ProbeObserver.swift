import Belvo
import FoundationEssentials
import HTTP
import JSON
import Synchronization

/// Stands between Belvo and the server that a probe runs, while a person connects a bank and pays R$ 0.01 through the
/// shop's page: it keeps the shapes of what passes, and learns how Belvo wants to be spoken to.
///
/// Nothing is sent twice here: what Belvo has refused is written in another way when the person tries again. Before the
/// page's first intent Belvo is asked by one of the probe's own, so that no signature is given in vain.
final class ProbeObserver: Sendable {
    private enum Asking { case notYet, underWay, done }

    private struct State {
        var report: ProbeReport
        /// How far the questions are that come before the page's first intent.
        var asking: Asking
        /// The probe's own intent.
        var opened: Probe.OpenedIntent?
        /// The choices of each switch that Belvo has refused, and with which status.
        var refused: [String: [(choice: String, status: Int)]] = [:]
        /// The intents that a signature was sent for, by Belvo's id.
        var signed: Set<UUID> = []
        var paid: UUID?
        /// The person's steps, as they were sent.
        var steps: [Call: Request] = [:]
        var webhooks = Webhooks()
    }

    private struct Webhooks {
        var count = 0
        var ids: Set<String> = []
        var signatureFields: Set<String> = []
        var enrollmentData: Set<String> = []
    }

    private static let stepCalls: [Call] = [.completeRedirection, .confirmEnrollment, .authorizePaymentIntent]

    private let probe: Probe
    private let visit: ShopVisit
    private let state: Mutex<State>

    /// - Parameter report: what is known already.
    init(_ probe: Probe, knowing report: ProbeReport, visit: ShopVisit) {
        self.probe = probe
        self.visit = visit
        let asking = probe.means.enrollment == nil ? Asking.notYet : .done
        state = Mutex(State(report: report, asking: asking))
    }

    /// How Belvo is spoken to now.
    var dialect: Dialect { state.withLock { $0.report.dialect } }
    var report: ProbeReport { state.withLock { $0.report } }
    var opened: Probe.OpenedIntent? { state.withLock { $0.opened } }
    /// The intent that was paid.
    var paid: UUID? { state.withLock { $0.paid } }
    /// The person's steps, in their order.
    var steps: [(call: Call, request: Request)] {
        state.withLock { state in Self.stepCalls.compactMap { call in state.steps[call].map { (call, $0) } } }
    }

    /// As the server takes it.
    var asBelvoObserver: BelvoObserver {
        BelvoObserver(carry: carry, dialect: { self.dialect }, see: observe)
    }

    /// The same function, observed.
    private func carry(over carry: @escaping Belvo.Client.Carry) -> Belvo.Client.Carry {
        { [self] call, request, limit in
            if call == .createPaymentIntent { try await askBefore(request) }
            if Self.stepCalls.contains(call) { keep(call, request) }
            let response: Response
            do {
                response = try await carry(call, request, limit)
            } catch {
                // What was held back did not leave.
                if !(error is CallHeldBack) { probe.recorder.observe(call.rawValue, error) }
                throw error
            }
            probe.recorder.observe(call.rawValue, response)
            learn(from: response, to: call)
            return response
        }
    }

    /// Keeps the shape of a webhook that was taken.
    private func observe(_ request: Request, _ reply: Reply) {
        guard request.target.path == "/webhooks/belvo", case .response(let response) = reply, response.status == .ok,
            let root = try? JSONDocument(parsing: request.body).root
        else { return }
        let word = root["webhook_type"]?.string ?? ""
        let type = PlainWord.isCode(word) ? word : PlainWord.unreadable
        probe.recorder.observe("webhook \(type)", Response(.ok, headers: request.headers, body: request.body))
        let fields = request.headers.names { name in
            ["signature", "hmac", "digest"].contains { name.contains($0) }
        }
        state.withLock { state in
            state.webhooks.count += 1
            if let id = root["webhook_id"]?.string { state.webhooks.ids.insert(id) }
            state.webhooks.signatureFields.formUnion(fields)
            let webhooks = state.webhooks
            let signed =
                webhooks.signatureFields.isEmpty ? "none" : webhooks.signatureFields.sorted().joined(separator: ", ")
            state.report.facts[.webhookIDs] =
                "\(webhooks.count) webhooks bore \(webhooks.ids.count) ids; fields that may be a signature: \(signed); "
                + "the order stays unknown"
            guard type == "ENROLLMENTS", let data = root["data"] else { return }
            state.webhooks.enrollmentData.formUnion(AnswerShape(data).lines)
            state.report.facts[.enrollmentWebhooks] =
                "seen: \(state.webhooks.enrollmentData.sorted().joined(separator: "; "))"
        }
    }
}

// What comes before the page's first intent.
extension ProbeObserver {
    /// Asks Belvo with an intent of the probe's own how it wants them, once. Where that is another way than this
    /// request is written in, the request stays here and the page makes it again.
    private func askBefore(_ request: Request) async throws {
        let (asking, before) = state.withLock { state in
            defer { if state.asking == .notYet { state.asking = .underWay } }
            return (state.asking, state.report.dialect)
        }
        guard asking != .done else { return }
        let again = CallHeldBack(reason: "the probe asks Belvo first", retryAfter: .seconds(1))
        guard asking == .notYet else { throw again }
        var found = ProbeReport(dialect: before)
        var opened: Probe.OpenedIntent?
        if let enrollment = await probe.readEnrollment(in: request, before) {
            opened = await probe.openIntent(with: enrollment, &found)
        }
        state.withLock { [found, opened] state in
            state.report.add(found)
            state.opened = opened
            state.asking = .done
        }
        guard found.dialect == before else { throw again }
    }

    private func keep(_ call: Call, _ request: Request) {
        // …/{id}/authorize/
        let id = request.target.path.split(separator: "/").dropLast().last.flatMap { UUID(uuidString: String($0)) }
        state.withLock { state in
            if probe.means.repeatsSteps { state.steps[call] = request }
            if call == .authorizePaymentIntent, let id { state.signed.insert(id) }
        }
    }
}

// What the answers tell.
extension ProbeObserver {
    private func learn(from response: Response, to call: Call) {
        let isTaken = response.status.isSuccess
        let error = isTaken ? nil : BelvoError(.status(ErrorBody.refusal(response)), to: call)
        switch call {
        case .createCustomer:
            let isOfThePerson = error.map { error in
                ["identifier", "name", "email", "phone"].contains(where: error.names)
            }
            let isRefused = error?.isOfTheContent ?? false && isOfThePerson == false
            note("customer_version", \.customerVersion, response.status, isRefused: isRefused)
        case .authorizePaymentIntent:
            let choice = dialect.authorizePlatform.rawValue
            note(
                "authorize_platform", \.authorizePlatform, response.status, isRefused: error?.names("platform") ?? false
            )
            if isTaken {
                state.withLock {
                    $0.report.facts[.authorizePlatform] = "\(choice) got \(response.status.code) with a signature"
                }
            }
        case .readRegistrationOptions: noteOptions(response)
        case .readPaymentIntent: noteIntent(response)
        default: break
        }
    }

    /// Keeps whether Belvo takes what a switch is set to. What it refuses is not tried again.
    private func note<Choice: RawRepresentable & Equatable & CaseIterable>(
        _ name: String, _ path: WritableKeyPath<Dialect, Choice>, _ status: Status, isRefused: Bool
    ) where Choice.RawValue == String {
        state.withLock { state in
            let choice = state.report.dialect[keyPath: path].rawValue
            if isRefused {
                state.refused[name, default: []].append((choice, status.code))
                let refused = Set(state.refused[name]?.map(\.choice) ?? [])
                if let next = Choice.allCases.first(where: { !refused.contains($0.rawValue) }) {
                    state.report.dialect[keyPath: path] = next
                }
            }
            let refusals = state.refused[name]?.map { "\($0.choice) got \($0.status)" }.joined(separator: ", ")
            if status.isSuccess {
                state.report.reasons[name] = "\(choice) was taken" + (refusals.map { ", after \($0)" } ?? "")
            } else if isRefused {
                state.report.reasons[name] = "not decided: \(refusals ?? "")"
            }
        }
    }

    private func noteOptions(_ response: Response) {
        let root = try? JSONDocument(parsing: response.body).root
        guard root?["challenge"]?.string?.isEmpty ?? true else { return }
        let summary = ProbeRecorder.exchange(Call.readRegistrationOptions.rawValue, response).summary
        state.withLock { $0.report.facts[.optionsBeforeReady] = summary }
    }

    private func noteIntent(_ response: Response) {
        guard let root = try? JSONDocument(parsing: response.body).root, root["status"]?.string == "SUCCEEDED",
            let id = root["id"]?.string.flatMap({ UUID(uuidString: $0) })
        else { return }
        let isFirst = state.withLock { state in
            guard state.paid == nil, state.signed.contains(id) else { return false }
            state.paid = id
            return true
        }
        if isFirst { visit.notePaid() }
    }
}

import AppRequests
import JSON
import SoftwareAuthenticator
import Transport

extension User {
    /// Buys something, once: asks with the same key until there is an answer, signs once, and looks until it is paid; a
    /// payment that has failed is followed by another one for the same reference. Ends when it is paid, or when the
    /// task is cancelled.
    func buy(_ reference: String) async {
        testimony.note(reference, isPaid: false)
        for attempt in 1... {
            guard !Task.isCancelled else { return }
            switch await open(reference, key: "\(reference)-\(attempt)") {
            case .payment(let payment, let id):
                if await pay(payment, id) { return testimony.note(reference, isPaid: true) }
            case .other(let id):
                if await isPaid(id) { return testimony.note(reference, isPaid: true) }
            case .failed: break
            case .nothing: return
            }
            await Loop.rest(.milliseconds(200))
        }
    }

    private enum Opening {
        case payment(JSONValue, id: String)
        /// An earlier attempt decides.
        case other(id: String)
        case failed
        /// The task was cancelled, or the server said what it should not say.
        case nothing
    }

    private func open(_ reference: String, key: String) async -> Opening {
        let request = AppRequest.createPayment(from: enrollment.value, reference: reference, key: key)
        while !Task.isCancelled {
            let heard = await ask(request)
            switch (heard?.status, heard?.problem) {
            case (201, _), (200, _), (202, _):
                guard let payment = heard?.json, let id = payment["id"]?.string else {
                    testimony.complain("a payment without id: \(heard?.text ?? "")")
                    return .nothing
                }
                if payment["status"]?.string == "FAILED" { return .failed }
                if heard?.status != 202 { return .payment(payment, id: id) }
            case (409, "already_paid"), (409, "payment_in_doubt"):
                guard let id = heard?.json?["payment_intent"]?.string else { break }
                return .other(id: id)
            case (422, "payment_failed"): return .failed
            case (nil, _), (409, "in_progress"), (429, _), (502, _), (503, _), (504, _): break
            default:
                testimony.complain("POST /v1/payment-intents: \(heard?.text ?? "")")
                return .nothing
            }
            await pause()
        }
        return .nothing
    }

    /// Whether it was paid in the end; false when it failed.
    private func pay(_ opened: JSONValue, _ id: String) async -> Bool {
        guard let options = await options(of: opened, id) else { return await isPaid(id) }
        // Signed once: the same assertion goes out as often as it takes.
        guard let assertion = try? phone.update({ phone in Result { try phone.sign(options) } }).get() else {
            testimony.complain("options that cannot be signed: \(String(decoding: options.raw, as: UTF8.self))")
            return false
        }
        let request = AppRequest.authorizePayment(id, riskSignals: signals.value, assertion: assertion)
        while !Task.isCancelled {
            let heard = await ask(request)
            switch (heard?.status, heard?.problem) {
            case (204, _), (202, _), (409, "wrong_state"), (422, "payment_failed"), (409, "already_paid"):
                return await isPaid(id)
            case (nil, _), (409, "in_progress"), (429, _), (502, _), (503, _), (504, _): await pause()
            default:
                testimony.complain("authorize: \(heard?.text ?? "")")
                return false
            }
        }
        return false
    }

    /// What the phone is to sign; nil when the payment has come to its end, or gone further already.
    private func options(of opened: JSONValue, _ id: String) async -> JSONValue? {
        var payment = opened
        while !Task.isCancelled {
            if let options = payment["next_action"]?["fido_options"] { return options }
            guard payment["status"]?.string == "PENDING", payment["next_action"]?["type"]?.string == "poll" else {
                return nil
            }
            await pause()
            if let heard = await ask(.readPayment(id)), heard.status == 200, let fresh = heard.json {
                payment = fresh
            }
        }
        return nil
    }

    /// Looks until the payment has come to its end; whether it was paid.
    private func isPaid(_ id: String) async -> Bool {
        while !Task.isCancelled {
            let heard = await ask(.readPayment(id))
            switch heard?.json?["status"]?.string {
            case "SUCCEEDED": return true
            case "FAILED": return false
            default: break
            }
            if heard?.status == 404 {
                testimony.complain("payment \(id) is not there any more")
                return false
            }
            await pause()
        }
        return false
    }

    /// A little chance, so that apps do not come in step.
    private func pause() async {
        await Loop.rest(.milliseconds(Int.random(in: 80...250)))
    }
}

/// Users who buy one thing after the other, each as fast as the site lets it.
struct Crowd: Sendable {
    private let site: Site
    private let name: String
    private let users: [User]

    init(_ site: Site, _ name: String = "load") {
        self.site = site
        self.name = name
        users = Array(site.users.prefix(site.tools.users))
    }

    /// Has everybody buy until the body is done, or so many things in all, then waits until everybody has what he asked
    /// for, and gives the longest time in which no app got a success while the body was running.
    func buying(
        upTo count: Int = .max, _ body: @Sendable () async throws -> Void
    ) async throws -> Duration {
        let isOver = LockedBox(false)
        let made = LockedBox(0)
        let start = Monotonic.now()
        let tasks = users.map { user in
            Loop.task { [name] in
                while !isOver.value, !Task.isCancelled {
                    let number = made.update { made in
                        made += 1
                        return made
                    }
                    guard number <= count else { return }
                    await user.buy("\(name)-\(number)")
                }
            }
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        let end = Monotonic.now()
        // Who has been told how many to buy buys them all.
        isOver.value = count == .max
        if count < .max { _ = await eventually(within: site.tools.healing) { made.value > count } }
        if await !site.settleDown() { for task in tasks { task.cancel() } }
        for task in tasks { _ = await task.result }
        try result.get()
        return site.testimony.longestGap(from: start, to: end)
    }
}

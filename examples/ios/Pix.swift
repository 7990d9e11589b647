// An app's part of Biometric Pix on iOS: a client of the merchant server, and one loop. Copy it into your app.
//
// Every enrollment and payment carries a `next_action`; the loop does what it says, and nothing else. Whatever changes
// something is written into the notebook before it is sent, so that an app that was killed goes on where it was.

import Foundation

/// What you write: the bank's page, the fingerprint, and what the phone says about itself (examples/ios/README.md).
@MainActor protocol Device {
    /// Opens the bank, in its app where there is one: `await UIApplication.shared.open(page)`.
    func openBank(_ page: URL) async throws
    /// Makes a credential, with Belvo's SDK `startRegistration` or with `createCredentialRegistrationRequest` of iOS.
    func register(_ options: JSON) async throws -> JSON
    /// Signs a payment, with Belvo's SDK `startSigning` or with `createCredentialAssertionRequest` of iOS.
    func sign(_ options: JSON) async throws -> JSON
    /// With Belvo's SDK `collectRiskSignals(accountTenure:)`.
    func riskSignals(_ accountTenure: String) async throws -> JSON
    /// Shows how things stand.
    func show(_ record: JSON)
}

typealias JSON = [String: Any]

/// What the network gave. What is no JSON is not the server's, and counts as silence: status 0.
struct Answer {
    var status = 0
    var tag: String?
    var wait: Double?
    var body: JSON = [:]

    init() {}
    init(_ given: (data: Data, response: URLResponse)) throws {
        let response = given.response as? HTTPURLResponse
        status = response?.statusCode ?? 0
        tag = response?.value(forHTTPHeaderField: "ETag")
        wait = response?.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init)
        body = try [204, 304].contains(status) ? [:] : JSON(given.data)
    }

    var pause: Duration { .milliseconds(body.object("next_action")["after_ms"] as? Int ?? 2000) }
    /// Whether the same may be said again later: the server is silent, busy, or still at work on the same request.
    var isForNow: Bool { [0, 429].contains(status) || status >= 500 || status == 409 && problem.code == "in_progress" }
    var problem: Problem { Problem(status: status, code: body.text("code"), detail: body.text("detail")) }
}

/// What the server says against a request; `code` is stable.
struct Problem: Error { let status: Int, code: String, detail: String }

/// How it ended: without a `reason` well, else by one of the seven words of docs/retry-reasons.md.
typealias Ending = (record: JSON, reason: String?)

@MainActor struct Pix {
    let api: String
    /// The user's token; when the server has refused one, that one comes along, and a new one is expected.
    let token: @MainActor (_ refused: String?) async throws -> String
    let device: any Device
    /// A file that outlives the app, such as `URL.libraryDirectory.appending(path: "pix.json")`.
    let notebook: URL
    var network: @MainActor (URLRequest) async throws -> (Data, URLResponse) = {
        try await URLSession.shared.data(for: $0)
    }
    var sleep: @MainActor (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// The banks, in the order in which to show them: `results`.
    func banks() async throws -> JSON { try await ask("GET", "/v1/institutions?limit=100").body }

    /// Makes the user Belvo's customer: once, and the same again is harmless.
    func introduce(_ person: JSON) async throws -> JSON { try await ask("PUT", "/v1/customer", person).body }

    /// Binds this phone to a bank.
    func enroll(_ bank: String, name: String) async throws -> Ending {
        let body: JSON = ["institution": bank, "platform": "IOS", "name": name, "risk_signals": try await signals()]
        return try await run(["path": "/v1/enrollments", "key": UUID().uuidString, "body": body])
    }

    /// Pays an order. One call for one touch: it makes the key that the touch goes by.
    func pay(_ enrollment: String, reference: String) async throws -> Ending {
        let body = ["enrollment": enrollment, "reference": reference]
        return try await run(["path": "/v1/payment-intents", "key": UUID().uuidString, "body": body])
    }

    /// Goes on with what was begun and has not ended, when the app starts; nil when there is nothing.
    func resume() async throws -> Ending? {
        guard let pending = try? Data(contentsOf: notebook) else { return nil }
        return try await run(JSON(pending))
    }

    private func run(_ pending: JSON) async throws -> Ending {
        do { return try await loop(pending) } catch let problem as Problem {
            // A refusal ends what was begun; silence does not, and neither does a sign-in that fails.
            if problem.status != 0, problem.status != 401 { forget() }
            throw problem
        }
    }

    /// The loop.
    private func loop(_ begun: JSON) async throws -> Ending {
        var pending = begun
        try note(pending)
        var answer = try await pending["id"] == nil ? begin(&pending) : read(pending)
        var openedPage: URL?
        while true {
            device.show(answer.body)
            let next = answer.body.object("next_action")
            switch next.text("type") {
            case "", "retry":
                forget()
                return (answer.body, next["reason"] as? String)
            case "register" where pending["made"] == nil:
                let confirmation = try await device.register(next.object("fido_registration_options"))
                pending["made"] = ["confirmation_data": confirmation]
            case "register": answer = try await hand(pending, "confirm")
            case "sign" where pending["made"] == nil:
                let assertion = try await device.sign(next.object("fido_options"))
                pending["made"] = ["risk_signals": try await signals(), "assertion": assertion]
            case "sign": answer = try await hand(pending, "authorize")
            default:  // "redirect" and "poll"
                if let page = URL(string: next.text("url")), page != openedPage {
                    try await device.openBank(page)
                    openedPage = page
                }
                answer = try await change(pending, answer)
            }
        }
    }

    private func begin(_ pending: inout JSON) async throws -> Answer {
        let key = ["Idempotency-Key": pending.text("key")]
        let answer = try await ask("POST", pending.text("path"), pending.object("body"), key, accepts: [409])
        // Another attempt is in the way, or has paid: go on with that one.
        guard let id = answer.body["payment_intent"] ?? answer.body["id"] else { throw answer.problem }
        pending["id"] = id
        try note(pending)
        return try await answer.status == 409 ? read(pending) : answer
    }

    /// Hands over what the phone has made: noted before it is sent, since it can be made only once.
    private func hand(_ pending: JSON, _ step: String) async throws -> Answer {
        try note(pending)
        let path = path(pending) + "/" + step
        // 409: Belvo has another one, or the time for it is over; 422: Belvo refuses it. The record says which.
        let answer = try await ask(
            "POST", path, pending.object("made"), comesAgain: step == "confirm", accepts: [409, 422])
        if answer.status >= 400 { try await sleep(.seconds(1)) }
        return try await read(pending)
    }

    /// The record as soon as it is another one: a long poll, where there is a tag to compare by.
    private func change(_ pending: JSON, _ known: Answer) async throws -> Answer {
        if let tag = known.tag {
            let answer = try await ask("GET", path(pending) + "?wait=20", nil, ["If-None-Match": tag])
            if answer.status != 304 { return answer }
        }
        try await sleep(known.pause)
        return try await read(pending)
    }

    private func read(_ pending: JSON) async throws -> Answer { try await ask("GET", path(pending)) }
    private func path(_ pending: JSON) -> String { pending.text("path") + "/" + pending.text("id") }
    private func signals() async throws -> JSON {
        try await device.riskSignals(ask("GET", "/v1/customer").body.text("account_tenure"))
    }
    private func note(_ pending: JSON) throws { try pending.data.write(to: notebook, options: .atomic) }
    private func forget() { try? FileManager.default.removeItem(at: notebook) }

    /// Says the same until it is answered, and what `comesAgain` after a 202 too: nothing is done twice.
    func ask(
        _ method: String, _ path: String, _ body: JSON? = nil, _ headers: [String: String] = [:],
        comesAgain: Bool = true, accepts: Set<Int> = []
    ) async throws -> Answer {
        guard let url = URL(string: api + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 30)
        request.httpMethod = method
        request.httpBody = try body?.data
        request.allHTTPHeaderFields = headers.merging(["Content-Type": "application/json"]) { $1 }
        var refused: String?
        for attempt in 1...20 {
            let bearer = try await token(refused)
            request.setValue("Bearer " + bearer, forHTTPHeaderField: "Authorization")
            let answer = (try? await Answer(network(request))) ?? Answer()
            let backoff = min(0.2 * Double(1 << attempt), 6)
            switch answer.status {
            case 401 where refused == nil: refused = bearer
            case 202 where comesAgain && attempt < 20: try await sleep(answer.pause)
            case _ where answer.isForNow: try await sleep(.seconds(min(answer.wait ?? backoff, 10)))
            case 400... where !accepts.contains(answer.status): throw answer.problem
            default: return answer
            }
        }
        throw Problem(status: 0, code: "no_answer", detail: "The server does not answer.")
    }
}

extension JSON {
    init(_ data: Data) throws { self = try JSONSerialization.jsonObject(with: data) as? JSON ?? [:] }
    var data: Data { get throws { try JSONSerialization.data(withJSONObject: self) } }
    func text(_ name: String) -> String { self[name] as? String ?? "" }
    func object(_ name: String) -> JSON { self[name] as? JSON ?? [:] }
}

import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

/// Plays the examples of a document in their order, and compares what comes with what is shown.
///
/// It stands for everybody whom a document speaks of: the user ana with her app and her phone, the bank that she goes
/// to, and Belvo.
struct GuidePlayer {
    private let harness: TestHarness
    private let guide: Guide
    private var bindings = Bindings()
    private var phone = Phone()
    private var console: Console
    private var faults: [String] = []

    // The last ones that an answer showed.
    private var enrollment: String?
    private var payment: (id: String, belvoID: String)?
    private var registrationOptions: JSONValue?
    private var paymentOptions: JSONValue?

    init(_ guide: Guide, on harness: TestHarness) throws {
        self.guide = guide
        self.harness = harness
        console = try Console(on: harness)
    }

    /// Everything that is not as the document says, with its line.
    mutating func play() async throws -> [String] {
        for step in guide.steps {
            do {
                let differences = try await play(step.content)
                faults += differences.map { "\(guide.path):\(step.line): \($0)" }
            } catch {
                faults.append("\(guide.path):\(step.line): \(error)")
            }
        }
        try console.remove()
        return faults
    }

    private mutating func play(_ content: Guide.Content) async throws -> [String] {
        switch content {
        case .exchange(let exchange): return try await play(exchange)
        case .console(let commands):
            let differences = try await console.play(commands, on: harness)
            for body in console.bodies { note(body) }
            return differences
        case .quotation(let lines): return try Self.isQuoted(lines) ? [] : ["no example has these lines"]
        case .meanwhile(let event):
            try await happen(event)
            return []
        case .prose: return []
        case .unknown(let language): return ["examples of the kind \"\(language)\" are not known; see Guide.swift"]
        }
    }

    private mutating func play(_ exchange: Guide.Exchange) async throws -> [String] {
        let request = try await request(exchange.request)
        let response = try await harness.client.send(request, deadline: .seconds(40))
        let shown = exchange.answer
        let status = "HTTP/1.1 \(response.status)"
        var differences = status == shown.start ? [] : ["\(shown.start) is \(status)"]
        for (name, value) in shown.headers {
            let field = try #require(HeaderName(name), "\(name) is no header's name")
            guard let came = response.headers[field] else {
                differences.append("\(name) is missing")
                continue
            }
            differences += try bindings.difference(value, came).map { ["\(name): \($0)"] } ?? []
        }
        differences += try compare(shown.body, response)
        note(response.body)
        return differences.isEmpty
            ? [] : [differences.joined(separator: "; ") + "\n" + String(decoding: response.body, as: UTF8.self)]
    }

    private mutating func compare(_ shown: String, _ response: Response) throws -> [String] {
        let isJSON = response.headers["content-type"]?.contains("json") ?? false
        guard isJSON, !shown.isEmpty else {
            let came = String(decoding: response.body, as: UTF8.self)
            return try bindings.difference(shown, came.trimmingWhiteSpace).map { [$0] } ?? []
        }
        let expected = try JSONDocument(parsing: Array(Bindings.json(shown).utf8)).root
        return try bindings.differences(expected, JSONDocument(parsing: response.body).root)
    }

    private mutating func request(_ part: Guide.Part) async throws -> Request {
        let words = part.start.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw Mistake("\"\(part.start)\" is no request") }
        let target = try await filled(String(words[1]))
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw Mistake("\(target) is no target") }
        var request = Request(Method(rawValue: String(words[0])), Target(stringLiteral: target))
        for (name, value) in part.headers {
            let field = try #require(HeaderName(name), "\(name) is no header's name")
            request.headers.append(field, try await filled(value))
        }
        if request.headers["authorization"] == nil, target.hasPrefix("/v1/") {
            request.headers.append("authorization", "Bearer \(try await token(of: "ana"))")
        }
        if !part.body.isEmpty {
            request.body = Array(try await filled(part.body).utf8)
            if request.headers["content-type"] == nil { request.headers.append("content-type", "application/json") }
        }
        return request
    }

    private mutating func filled(_ text: String) async throws -> String {
        for name in bindings.unbound(in: text) where bindings[name] == nil { try await bind(name) }
        return bindings.filled(text)
    }

    /// Asks the scene for the value of a name that no answer has bound.
    private mutating func bind(_ name: String) async throws {
        switch name {
        case "device id": bindings[name] = phone.deviceID
        case "state", "code", "id token":
            let reply = try harness.sandbox.decide(enrollment: try #require(enrollment), .approve)
            (bindings["state"], bindings["code"], bindings["id token"]) = (
                reply["state"], reply["code"], reply["id_token"]
            )
        case "state of a refusal":
            bindings[name] = try harness.sandbox.decide(enrollment: try #require(enrollment), .refuse)["state"]
        case "credential id", "attestation object", "registration data":
            let answer = try JSONDocument(parsing: phone.register(try #require(registrationOptions))).root
            bindings["credential id"] = answer["id"]?.string
            bindings["attestation object"] = answer["response"]?["attestationObject"]?.string
            bindings["registration data"] = answer["response"]?["clientDataJSON"]?.string
        case "authenticator data", "signed data", "signature", "user handle":
            let response = try JSONDocument(parsing: phone.sign(try #require(paymentOptions))).root["response"]
            bindings["authenticator data"] = response?["authenticatorData"]?.string
            bindings["signed data"] = response?["clientDataJSON"]?.string
            bindings["signature"] = response?["signature"]?.string
            bindings["user handle"] = response?["userHandle"]?.string
        case _ where name.hasPrefix("token of "):
            bindings[name] = try await token(of: String(name.dropFirst("token of ".count)))
        default: throw Mistake("<\(name)> is not known")
        }
    }

    private func token(of subject: String) async throws -> String {
        try #require(try await harness.app(of: subject).token)
    }

    /// The members of an answer that an app would keep.
    private mutating func note(_ body: [UInt8]) {
        // Pages and empty bodies hold nothing of the kind.
        guard let root = try? JSONDocument(parsing: body).root else { return }
        if root["type"]?.string == "open_finance_biometric_pix", let id = root["belvo_id"]?.string {
            if id != enrollment { forget("state", "code", "id token", "state of a refusal") }
            enrollment = id
        }
        if root["payment_method_information"] != nil, let id = root["id"]?.string,
            let belvoID = root["belvo_id"]?.string
        {
            payment = (id, belvoID)
        }
        if let options = root["next_action"]?["fido_registration_options"] ?? (root["rp"] == nil ? nil : root) {
            if isNew(options, registrationOptions) {
                forget("credential id", "attestation object", "registration data")
            }
            registrationOptions = options
        }
        if let options = root["next_action"]?["fido_options"] {
            if isNew(options, paymentOptions) {
                forget("authenticator data", "signed data", "signature", "user handle")
            }
            paymentOptions = options
        }
    }

    private func isNew(_ options: JSONValue, _ known: JSONValue?) -> Bool {
        options["challenge"]?.string != known?["challenge"]?.string
    }

    private mutating func forget(_ names: String...) {
        for name in names { bindings[name] = nil }
    }

    /// The actions of others between the reader's steps.
    private mutating func happen(_ event: String) async throws {
        switch event {
        case "the user approves at the bank":
            let reply = try harness.sandbox.decide(enrollment: try #require(enrollment), .approve)
            _ = try await harness.browser().follow(reply)
        case "the bank prepares the options":
            try harness.sandbox.makeReady(enrollment: try #require(enrollment))
            try await harness.poll()
        case "the bank accepts the enrollment":
            try harness.sandbox.settle(enrollment: try #require(enrollment))
            try await harness.poll()
        case "the user signs":
            let assertion = try phone.sign(try #require(paymentOptions))
            let tenure = try await harness.app(of: "ana").send(.get, "/v1/customer").string("account_tenure")
            let signals = String(decoding: phone.riskSignals(accountTenure: tenure), as: UTF8.self)
            let answer = try await harness.app(of: "ana").send(
                .post, "/v1/payment-intents/\(try #require(payment).id)/authorize",
                #"{"risk_signals": \#(signals), "assertion": \#(String(decoding: assertion, as: UTF8.self))}"#)
            guard answer.status == 204 else { throw Mistake("the signature is not taken: \(answer.text)") }
        case "the money arrives":
            try harness.sandbox.settle(intent: try #require(payment).belvoID)
            try await harness.poll()
        case "the account is empty":
            try harness.sandbox.fail(intent: try #require(payment).belvoID)
            try await harness.poll()
        case "Belvo's answers get lost":
            // That of the call, and that of the look-up which follows it at once.
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            harness.sandbox.next(.dropAnswer, on: .listPaymentIntents)
        case "Belvo has enough requests": harness.sandbox.next(.tooManyRequests(retryAfter: 5), on: nil)
        case "the seconds pass": try await harness.advance(by: .seconds(10))
        default: throw Mistake("nobody knows how \"\(event)\" happens; see GuidePlayer.happen")
        }
    }

    /// Whether the lines stand like this, one after the other and however far from the margin, in a file of the
    /// examples or in the page that a browser plays the flow with.
    private static func isQuoted(_ lines: [String]) throws -> Bool {
        let folder = "\(Guide.root)/examples"
        let examples = try FileManager.default.subpathsOfDirectory(atPath: folder)
            .filter { name in [".swift", ".js", ".kt"].contains { name.hasSuffix($0) } }
        let files = examples.map { "examples/\($0)" } + ["Tests/MerchantTests/Browser/ShopSite.swift"]
        let wanted = lines.map { $0.drop { $0 == " " } }
        return try files.contains { file in
            try Guide.lines(of: file).map { $0.drop { $0 == " " } }.firstRange(of: wanted) != nil
        }
    }

    /// An example that cannot be played as it is written.
    private struct Mistake: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// A user with an app on an enrolled phone.
struct User: Sendable {
    private let app: App
    private var phone: Phone
    private let enrollment: String
    private let riskSignals: [UInt8]
    /// Whether each payment has a reference of its own.
    var namesReferences = false

    init(app: App, phone: Phone, enrollment: String, riskSignals: [UInt8]) {
        self.app = app
        self.phone = phone
        self.enrollment = enrollment
        self.riskSignals = riskSignals
    }

    /// Opens a payment and gives it as the server shows it, ready to be signed.
    func createPayment() async throws -> JSONValue {
        let payment = try await app.send(.post, "/v1/payment-intents", headers: ["idempotency-key": .randomKey()]) {
            $0.member("enrollment", enrollment)
            $0.member("amount", "19.90")
            $0.member("description", "Two coffees")
            if namesReferences { $0.member("reference", String.randomKey()) }
        }
        guard payment["next_action"]?["fido_options"] != nil else {
            throw Unexpected("a payment without options", payment)
        }
        return payment
    }

    /// Opens a payment and signs it; gives its id.
    mutating func signPayment() async throws -> String {
        let payment = try await createPayment()
        guard let id = payment["id"]?.string, let options = payment["next_action"]?["fido_options"] else {
            throw Unexpected("a payment without id", payment)
        }
        let assertion = try phone.sign(options)
        _ = try await app.send(.post, "/v1/payment-intents/\(id)/authorize") {
            $0.memberRaw("risk_signals", riskSignals)
            $0.memberRaw("assertion", assertion)
        }
        return id
    }

    /// Opens a payment, signs it, and looks until it is paid, as often as the server tells an app to.
    mutating func pay(on loop: EventLoop) async throws {
        let id = try await signPayment()
        try await app.look(at: "/v1/payment-intents/\(id)", on: loop) { try $0.hasSucceeded }
    }
}

extension JSONValue {
    /// Whether an enrollment or a payment has come to a good end; throws at a bad one.
    var hasSucceeded: Bool {
        get throws {
            switch self["status"]?.string {
            case "SUCCEEDED": true
            case "PENDING": false
            default: throw Unexpected("a failure", self)
            }
        }
    }
}

/// An answer that no load should bring about.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ answer: JSONValue) {
        description = "\(what): \(String(decoding: answer.raw, as: UTF8.self))"
    }

    init(_ request: Request, _ response: Response) {
        description =
            "\(request.method) \(request.target) was answered \(response.status): "
            + String(decoding: response.body, as: UTF8.self)
    }
}

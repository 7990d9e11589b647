import AppRequests
import BelvoSandbox
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

/// A user with an app and a phone, and the words in which tests say how far the user has come.
///
/// The steps that a test is not about are taken here, and fail the test when they go wrong; what it is about it sends
/// itself, with the bodies that are made here.
struct AppClient {
    let harness: TestHarness
    let app: App
    var phone = Phone()
    /// The risk signals of the phone, with the day since when Belvo knows the customer.
    let signals: String

    var deviceID: String { phone.deviceID }

    /// A bank of the sandbox.
    static let bank = "188716fb-39ad-44a7-a992-6c278d2b24a4"

    /// An enrollment, by the ids that both sides know it by.
    struct Enrollment: Sendable {
        let id: String
        let belvoID: String
    }

    /// A payment that waits for its signature.
    struct OpenedPayment: Sendable {
        let id: String
        let belvoID: String
        let answer: Answer
    }

    /// Everything that a user may be asked to send to pay.
    static func customerBody(taxID: String = "529.982.247-25") -> String {
        #"{"name": "Ana Souza", "identifier": "\#(taxID)", "email": "ana@example.com", "phone": "+5511987654321"}"#
    }

    /// A user whom Belvo knows.
    static func arrive(
        on harness: TestHarness, as subject: String = "ana", taxID: String = "529.982.247-25"
    ) async throws -> AppClient {
        let app = try await harness.app(of: subject)
        let customer = try await app.send(.put, "/v1/customer", customerBody(taxID: taxID))
        let phone = Phone()
        let signals = phone.riskSignals(accountTenure: try customer.string("account_tenure"))
        return AppClient(harness: harness, app: app, phone: phone, signals: String(decoding: signals, as: UTF8.self))
    }

    /// The body that starts an enrollment.
    var enrollmentBody: String {
        #"{"institution": "\#(Self.bank)", "platform": "IOS", "name": "Ana's phone", "risk_signals": \#(signals)}"#
    }

    /// The user stands at the bank's door.
    func startEnrollment(on platform: String = "IOS") async throws -> Enrollment {
        let body = enrollmentBody.replacing("\"IOS\"", with: "\"\(platform)\"")
        let answer = try await app.send(.post, "/v1/enrollments", body)
        return Enrollment(id: try answer.string("id"), belvoID: try answer.string("belvo_id"))
    }

    /// The bank's redirect after the user's decision.
    func decide(_ enrollment: Enrollment, _ decision: BankDecision = .approve) throws -> BankReply {
        try harness.sandbox.decide(enrollment: enrollment.belvoID, decision)
    }

    /// The app passes on what the bank handed back.
    @discardableResult
    func complete(_ reply: BankReply) async throws -> Answer {
        try await app.send(.completeRedirection(reply.body))
    }

    /// The bank waits for the fingerprint.
    func reachFingerprint(on platform: String = "IOS") async throws -> Enrollment {
        let enrollment = try await startEnrollment(on: platform)
        try await complete(decide(enrollment))
        try await awaitOptions(of: enrollment)
        return enrollment
    }

    func awaitOptions(of enrollment: Enrollment) async throws {
        try harness.sandbox.makeReady(enrollment: enrollment.belvoID)
        try await harness.poll()
    }

    /// The body that confirms, with a new key of the phone.
    mutating func confirmation(of enrollment: Enrollment) async throws -> String {
        String(decoding: try await confirming(enrollment).body, as: UTF8.self)
    }

    private mutating func confirming(_ enrollment: Enrollment, with flaw: Flaw? = nil) async throws -> AppRequest {
        let options = try await app.send(.readRegistrationOptions(of: enrollment.id))
        return .confirmEnrollment(enrollment.id, confirmationData: try phone.register(try options.json, with: flaw))
    }

    @discardableResult
    mutating func confirm(_ enrollment: Enrollment, with flaw: Flaw? = nil) async throws -> Answer {
        try await app.send(confirming(enrollment, with: flaw))
    }

    /// The phone can pay.
    mutating func enroll() async throws -> Enrollment {
        let enrollment = try await reachFingerprint()
        try await confirm(enrollment)
        try harness.sandbox.settle(enrollment: enrollment.belvoID)
        try await harness.poll()
        #expect(try await self.enrollment(enrollment).string("status") == "SUCCEEDED")
        return enrollment
    }

    func enrollment(_ enrollment: Enrollment) async throws -> Answer {
        try await app.send(.readEnrollment(enrollment.id))
    }

    /// The body that opens a payment.
    func paymentBody(_ enrollment: Enrollment, reference: String? = "order-1", amount: String = #""19.90""#) -> String {
        let reference = reference.map { #""reference": "\#($0)", "# } ?? ""
        return #"{"enrollment": "\#(enrollment.id)", \#(reference)"amount": \#(amount), "description": "Two coffees"}"#
    }

    /// Asks for a payment, whatever comes of it.
    func requestPayment(_ enrollment: Enrollment, reference: String? = "order-1", key: String = "tap-1") async throws
        -> Answer
    {
        try await app.send(
            .post, "/v1/payment-intents", paymentBody(enrollment, reference: reference),
            headers: ["idempotency-key": key])
    }

    /// The phone shows what it is to sign.
    func openPayment(_ enrollment: Enrollment, reference: String? = "order-1", key: String = "tap-1") async throws
        -> OpenedPayment
    {
        let answer = try await requestPayment(enrollment, reference: reference, key: key)
        return OpenedPayment(id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
    }

    /// Belvo makes two intents of one request: the payment, and the id of the one that is not known here.
    func openPaymentTwice(_ enrollment: Enrollment, reference: String? = "order-1") async throws -> (
        payment: OpenedPayment, twin: String
    ) {
        let sandbox = harness.sandbox
        sandbox.variants.listLagMilliseconds = 3_600_000
        sandbox.variants.keyReuse = .forgotten
        sandbox.next(.dropAnswer, on: .createPaymentIntent)
        let payment = try await openPayment(enrollment, reference: reference)
        return (payment, try #require(sandbox.intentIDs(externalID: payment.id).first { $0 != payment.belvoID }))
    }

    /// The body that authorizes, with a new signature of the phone.
    mutating func authorization(of payment: OpenedPayment) throws -> String {
        String(decoding: try authorizing(payment).body, as: UTF8.self)
    }

    private mutating func authorizing(_ payment: OpenedPayment, with flaw: Flaw? = nil) throws -> AppRequest {
        let pix = try payment.answer.json["payment_method_information"]?["open_finance_biometric_pix"]
        let assertion = try phone.sign(try #require(pix?["fido_options"]), with: flaw)
        return .authorizePayment(payment.id, riskSignals: Array(signals.utf8), assertion: assertion)
    }

    @discardableResult
    mutating func authorize(_ payment: OpenedPayment, with flaw: Flaw? = nil) async throws -> Answer {
        try await app.send(authorizing(payment, with: flaw))
    }

    /// Gives the payment up.
    func cancel(_ payment: OpenedPayment, _ body: String? = nil) async throws -> Answer {
        try await cancel(payment.id, body)
    }

    func cancel(_ id: String, _ body: String? = nil) async throws -> Answer {
        try await app.send(.post, "/v1/payment-intents/\(id)/cancel", body)
    }

    func payment(_ payment: OpenedPayment) async throws -> Answer { try await self.payment(payment.id) }

    func payment(_ id: String) async throws -> Answer {
        try await app.send(.readPayment(id))
    }
}

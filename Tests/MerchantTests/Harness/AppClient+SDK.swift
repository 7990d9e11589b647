import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// The calls of an app's SDK at Belvo, without the merchant's server (belvo-api.md §2.1).
extension AppClient {
    private var belvo: Belvo.Client { harness.merchant.dependencies.belvo }

    /// The user, as Belvo knows one.
    func customerAtBelvo() async throws -> Belvo.Customer.ID {
        let id = try await app.send(.get, "/v1/customer").string("belvo_id")
        return Belvo.Customer.ID(try #require(UUID(uuidString: id)))
    }

    /// An enrollment of this user's, or of another one whom Belvo knows.
    func startEnrollmentBySDK(of other: Belvo.Customer.ID? = nil) async throws -> Belvo.Enrollment.ID {
        var customer = other
        if customer == nil { customer = try await customerAtBelvo() }
        return try await belvo.createEnrollment(
            NewEnrollment(
                externalID: "made by the SDK", customer: try #require(customer),
                institution: Belvo.Institution.ID(try #require(UUID(uuidString: Self.bank))), name: "SDK's phone",
                platform: .android, callbackURL: "https://app.example/back",
                riskSignals: RawJSON(parsing: Array(signals.utf8)))
        ).id
    }

    /// The same, as far as the phone can pay.
    mutating func enrollBySDK() async throws -> Belvo.Enrollment.ID {
        let id = try await startEnrollmentBySDK()
        let reply = try harness.sandbox.decide(enrollment: id.description, .approve)
        _ = try await belvo.completeRedirection(
            .approved(
                state: try #require(reply["state"]), code: try #require(reply["code"]), idToken: reply["id_token"]))
        try harness.sandbox.makeReady(enrollment: id.description)
        guard case .ready(let options) = try await belvo.readRegistrationOptions(of: id) else {
            throw NotReady()
        }
        let data = try phone.register(try JSONDocument(parsing: options.json.bytes).root)
        try await belvo.confirmEnrollment(id, confirmationData: RawJSON(parsing: data))
        try harness.sandbox.settle(enrollment: id.description)
        return id
    }

    /// The sandbox did not give what it was told to give.
    private struct NotReady: Error {}

    /// A payment from this enrollment; it is not authorized yet.
    func openPaymentBySDK(
        from enrollment: Belvo.Enrollment.ID, named name: String = "made by the SDK", centavos: Int64 = 700
    ) async throws -> Belvo.PaymentIntent.ID {
        try await belvo.createPaymentIntent(
            NewPaymentIntent(
                externalID: name, idempotencyKey: UUID(), amountCentavos: centavos,
                customer: try await customerAtBelvo(),
                enrollment: enrollment,
                beneficiaryBankAccount: Belvo.BankAccount.ID(harness.settings.beneficiaryBankAccount),
                purpose: "Two teas", statementDescription: "Tea house")
        ).id
    }
}

extension AppClient.Enrollment {
    /// The enrollment by Belvo's id.
    func atBelvo() throws -> Belvo.Enrollment.ID { Belvo.Enrollment.ID(try #require(UUID(uuidString: belvoID))) }
}

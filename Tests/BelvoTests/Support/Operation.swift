import Belvo
import Testing

/// A method of the client, called with sample arguments, and an answer that it takes for a success.
struct Operation: Sendable, CustomTestStringConvertible {
    let call: Call
    let success: String
    let perform: @Sendable (Client) async throws -> Void

    var testDescription: String { call.rawValue }

    /// Every public method, in the order of the flow.
    static let all: [Operation] = [
        Operation(call: .mintWidgetToken, success: #"{"access":"a.b.c"}"#) { _ = try await $0.mintWidgetToken() },
        Operation(call: .refreshWidgetToken, success: #"{"access":"a.b.c"}"#) {
            let refresh = try #require(WidgetToken.Secret("r.e.f"))
            _ = try await $0.refreshWidgetToken(refresh, at: "/payments/api/widget-token/refresh/")
        },
        Operation(call: .listInstitutions, success: "[]") { _ = try await $0.listInstitutions() },
        Operation(call: .createCustomer, success: Sample.customerAnswer) {
            _ = try await $0.createCustomer(Sample.newCustomer())
        },
        Operation(call: .findCustomers, success: "[]") {
            _ = try await $0.findCustomers(externalID: Sample.externalID)
        },
        Operation(call: .readCustomer, success: Sample.customerAnswer) {
            _ = try await $0.readCustomer(Sample.id(Sample.customer))
        },
        Operation(call: .createEnrollment, success: Sample.enrollmentCreated) {
            _ = try await $0.createEnrollment(Sample.newEnrollment())
        },
        Operation(call: .completeRedirection, success: Sample.enrollmentFailed) {
            _ = try await $0.completeRedirection(.approved(state: "s", code: "c", idToken: "t"))
        },
        Operation(call: .readRegistrationOptions, success: Sample.registrationOptions) {
            _ = try await $0.readRegistrationOptions(of: Sample.id(Sample.enrollment))
        },
        Operation(call: .confirmEnrollment, success: "") {
            let data = try Sample.json(Sample.confirmationData)
            try await $0.confirmEnrollment(Sample.id(Sample.enrollment), confirmationData: data)
        },
        Operation(call: .readEnrollment, success: Sample.enrollmentCreated) {
            _ = try await $0.readEnrollment(Sample.id(Sample.enrollment))
        },
        Operation(call: .listEnrollments, success: "[]") { _ = try await $0.listEnrollments(deviceID: "a1b2c3") },
        Operation(call: .listEnrollments, success: "[]") {
            _ = try await $0.findEnrollments(externalID: Sample.externalID)
        },
        Operation(call: .createPaymentIntent, success: Sample.intentCreated) {
            _ = try await $0.createPaymentIntent(Sample.newPaymentIntent())
        },
        Operation(call: .authorizePaymentIntent, success: "") {
            try await $0.authorizePaymentIntent(Sample.id(Sample.intent), Sample.authorization())
        },
        Operation(call: .readPaymentIntent, success: Sample.intentSucceeded) {
            _ = try await $0.readPaymentIntent(Sample.id(Sample.intent))
        },
        Operation(call: .findPaymentIntents, success: "[]") {
            _ = try await $0.findPaymentIntents(externalID: Sample.externalID)
        },
        Operation(call: .readCharge, success: #"{"id":"\#(Sample.intent)","status":"SUCCEEDED"}"#) {
            _ = try await $0.readCharge(Sample.id(Sample.intent))
        },
        Operation(call: .listCharges, success: "[]") {
            _ = try await $0.listCharges(createdFrom: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z")
        },
        Operation(call: .findPaymentIntents, success: "[]") {
            _ = try await $0.listPaymentIntents(createdFrom: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z")
        },
        Operation(call: .readTransaction, success: #"{"id":"\#(Sample.intent)"}"#) {
            _ = try await $0.readTransaction(Sample.id(Sample.intent))
        },
    ]
}

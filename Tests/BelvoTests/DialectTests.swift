import Belvo
import HTTP
import Testing

/// The readings between which Belvo's documents leave the choice (belvo-api.md §11).
struct DialectTests {
    @Test func `an amount may be a string`() async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        _ = try await belvo.client { $0.dialect.amount = .string }.createPaymentIntent(Sample.newPaymentIntent())
        #expect(try belvo.transcript().contains(#"{"amount":"0.13","#))
    }

    @Test func `an intent may leave its customer to the enrollment`() async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        let client = try belvo.client { $0.dialect.intentCustomer = .omitted }
        _ = try await client.createPaymentIntent(Sample.newPaymentIntent())
        #expect(try !belvo.transcript().contains("customer"))
    }

    @Test(
        arguments: [
            (.uppercase, #"{"platform":"IOS","risk_signals":"#), (.lowercase, #"{"platform":"ios","risk_signals":"#),
        ]
            as [(Dialect.AuthorizePlatform, String)]
    )
    func `authorize may name the platform`(spelling: Dialect.AuthorizePlatform, body: String) async throws {
        let belvo = Upstream(reply(204))
        let client = try belvo.client { $0.dialect.authorizePlatform = spelling }
        try await client.authorizePaymentIntent(Sample.id(Sample.intent), Sample.authorization())
        #expect(try belvo.transcript().contains(body))
    }

    @Test func `a widget token may be asked for with an empty object`() async throws {
        let belvo = Upstream(reply(200, #"{"access":"a.b.c"}"#))
        _ = try await belvo.client { $0.dialect.widgetTokenBody = .emptyObject }.mintWidgetToken()
        #expect(try belvo.transcript().hasSuffix("\n\n{}"))
    }

    @Test(arguments: Operation.all)
    func `only customers may be asked for in version 2`(operation: Operation) async throws {
        let belvo = Upstream(reply(200, operation.success))
        try await operation.perform(belvo.client { $0.dialect.customerVersion = .v2 })
        let version = belvo.requests[0].headers["x-belvo-api-resource-version"]
        let isAboutCustomers = [.createCustomer, .findCustomers, .readCustomer].contains(operation.call)
        #expect(version == (isAboutCustomers ? "Payments-BR.V2" : nil))
    }
}

/// The choices for requests and answers where Belvo's documents contradict each other (belvo-api.md §11).
///
/// The defaults follow the API guide. Observation of the real API may flip any of them without a release.
public struct Dialect: Sendable, Equatable {
    /// How the amount of a payment intent is written (belvo-api.md §11, line 3).
    public var amount = AmountSpelling.number

    /// Whether and how authorize names the platform (belvo-api.md §11, line 7).
    public var authorizePlatform = AuthorizePlatform.omitted

    /// Whether a payment intent names its customer beside its enrollment (belvo-api.md §11, line 4).
    public var intentCustomer = IntentCustomer.id

    /// The body of the request for a widget token; the guide shows no body (belvo-api.md §2.1).
    public var widgetTokenBody = WidgetTokenBody.none

    /// The version of the customer resource (belvo-api.md §11, line 19).
    public var customerVersion = CustomerVersion.v1

    public init() {}

    /// `0.13` or `"0.13"`, with two decimals in either.
    public enum AmountSpelling: String, Sendable, CaseIterable { case number, string }

    /// No `platform` member, or one such as `"IOS"` or `"ios"`.
    public enum AuthorizePlatform: String, Sendable, CaseIterable { case omitted, uppercase, lowercase }

    /// The customer's Belvo id, or no `customer` member.
    public enum IntentCustomer: String, Sendable, CaseIterable { case id, omitted }

    /// No body at all, or `{}`.
    public enum WidgetTokenBody: String, Sendable, CaseIterable {
        case none
        case emptyObject = "empty_object"
    }

    /// V2 is asked for with the header `X-Belvo-API-Resource-Version: Payments-BR.V2`, on customers alone.
    public enum CustomerVersion: String, Sendable, CaseIterable { case v1, v2 }
}

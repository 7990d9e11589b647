/// A value that the control API can read from text.
public protocol SwitchText: Sendable, Equatable {
    init?(switchText: String)
    var switchText: String { get }
    /// The texts that are possible, for the error message.
    static var choices: [String] { get }
}

/// A closed set of readings, each with its word.
public protocol Switch: SwitchText, CaseIterable, RawRepresentable where RawValue == String {}

extension Switch {
    public init?(switchText: String) { self.init(rawValue: switchText) }
    public var switchText: String { rawValue }
    public static var choices: [String] { allCases.map(\.rawValue) }
}

extension Int: SwitchText {
    public init?(switchText: String) {
        guard let number = Int(switchText), (0...86_400_000).contains(number) else { return nil }
        self = number
    }

    public var switchText: String { String(self) }
    public static var choices: [String] { ["0 … 86400000"] }
}

extension Variants {
    /// One switch by its name on the wire.
    struct Named: Sendable {
        let name: String
        let choices: [String]
        let read: @Sendable (Variants) -> String
        /// Answers whether the text was one of the choices.
        let write: @Sendable (inout Variants, String) -> Bool

        init<Value: SwitchText>(_ name: String, _ path: any WritableKeyPath<Variants, Value> & Sendable) {
            self.name = name
            choices = Value.choices
            read = { $0[keyPath: path].switchText }
            write = { variants, text in
                guard let value = Value(switchText: text) else { return false }
                variants[keyPath: path] = value
                return true
            }
        }
    }

    static let all: [Named] = [
        Named("errors", \.errors),
        Named("unknown_members", \.unknownMembers),
        Named("missing_slash", \.missingSlash),
        Named("lists", \.lists),
        Named("page_size_max", \.pageSizeMax),
        Named("device_filter", \.deviceFilter),
        Named("list_lag_ms", \.listLagMilliseconds),
        Named("list_state_lag_ms", \.listStateLagMilliseconds),
        Named("list_filters", \.listFilters),
        Named("list_order", \.listOrder),
        Named("list_end", \.listEnd),
        Named("read_lag_ms", \.readLagMilliseconds),
        Named("token_refresh", \.tokenRefresh),
        Named("duplicate_customers", \.duplicateCustomers),
        Named("customer_reference", \.customerReference),
        Named("amounts", \.amounts),
        Named("authorize_platform", \.authorizePlatform),
        Named("phone_signals", \.phoneSignals),
        Named("tenure", \.tenure),
        Named("redirect", \.redirect),
        Named("callback", \.callback),
        Named("unknown_codes", \.unknownCodes),
        Named("fido_not_ready", \.fidoNotReady),
        Named("fido_readiness", \.fidoReadiness),
        Named("option_bytes", \.optionBytes),
        Named("appid", \.appID),
        Named("algorithms", \.algorithms),
        Named("resident_key", \.residentKey),
        Named("credentials", \.credentials),
        Named("challenges", \.challenges),
        Named("failed_details", \.failedDetails),
        Named("authorized_spelling", \.authorizedSpelling),
        Named("risk_signals", \.riskSignals),
        Named("enrollment_settlement", \.enrollmentSettlement),
        Named("payment_settlement", \.paymentSettlement),
        Named("intent_states", \.intentStates),
        Named("fido_options", \.fidoOptions),
        Named("key_reuse", \.keyReuse),
        Named("failure_codes", \.failureCodes),
        Named("webhook_token", \.webhookToken),
        Named("webhook_external_id", \.webhookExternalID),
        Named("webhook_receipt", \.webhookReceipt),
        Named("webhook_copies", \.webhookCopies),
        Named("webhook_flow", \.webhookFlow),
    ]
}

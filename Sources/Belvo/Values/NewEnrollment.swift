/// The members with which an enrollment is created (belvo-api.md §4.1).
public struct NewEnrollment: Sendable, Redacted {
    /// The identity under which the enrollment can be found again.
    public var externalID: String
    public var customer: Customer.ID
    public var institution: Institution.ID
    public var name: String?
    public var platform: Platform
    /// Where the bank sends the person back to: https, and registered as a link of the app.
    public var callbackURL: String
    /// The risk signals that the device's SDK collected, passed on untouched.
    public var riskSignals: RawJSON
    public var metadata: RawJSON?

    public init(
        externalID: String,
        customer: Customer.ID,
        institution: Institution.ID,
        name: String? = nil,
        platform: Platform,
        callbackURL: String,
        riskSignals: RawJSON,
        metadata: RawJSON? = nil
    ) {
        self.externalID = externalID
        self.customer = customer
        self.institution = institution
        self.name = name
        self.platform = platform
        self.callbackURL = callbackURL
        self.riskSignals = riskSignals
        self.metadata = metadata
    }
}

/// The kind of device that is enrolled, as Belvo spells it.
public enum Platform: String, Sendable, CaseIterable {
    case ios = "IOS"
    case android = "ANDROID"
    case browser = "BROWSER"
}

/// The parameters with which the bank sent the person back (belvo-api.md §4.3). Every part is opaque and secret.
public enum Redirection: Sendable, Redacted {
    case approved(state: String, code: String, idToken: String?)
    case rejected(state: String, error: String, errorDescription: String?)
}

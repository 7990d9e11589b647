/// Belvo's example of a `redirect_url` is cut off before its parameters, so either is possible.
public enum RedirectForm: String, Switch {
    /// The URL has `state` and `redirect_uri` in its query.
    case openState = "open_state"
    /// The URL has a `request_uri` and nothing to read (RFC 9126).
    case pushedAuthorization = "pushed_authorization"
}

/// belvo-api.md §4.3: the guide says query, OpenID's hybrid flow says fragment.
public enum CallbackForm: String, Switch { case query, fragment }

/// belvo-api.md §4.4: the code is single-use; what a wrong one does is not documented.
public enum UnknownCodes: String, Switch {
    /// 200 with the enrollment as it was: a right code can still follow.
    case ignored
    /// 200 with the enrollment FAILED.
    case failed
    /// 400 on `code`, the enrollment as it was.
    case refused
}

/// belvo-api.md §4.5: how the options look before they are there.
public enum NotReady: String, Switch {
    /// 200 with `"challenge": null`, which the SDK's waiting condition suggests.
    case withoutChallenge = "without_challenge"
    /// 200 with `{}`.
    case empty
    case accepted = "202"
    case notFound = "404"
    case conflict = "409"
    case tooEarly = "425"
}

/// belvo-api.md §4.5: every call makes a new challenge.
public enum Challenges: String, Switch {
    /// A new challenge ends the life of those before it.
    case latest
    /// Any challenge of the enrollment does.
    case anyIssued = "any_issued"
}

/// belvo-api.md §11, line 11.
public enum FailedDetails: String, Switch { case kept, rejected }

/// belvo-api.md §11, line 12.
public enum AuthorizedSpelling: String, Switch {
    case american = "AUTHORIZED"
    case british = "AUTHORISED"
}

/// belvo-api.md §11, line 13: a mask, or an object that shows the device.
public enum RiskSignalsForm: String, Switch { case masked, object }

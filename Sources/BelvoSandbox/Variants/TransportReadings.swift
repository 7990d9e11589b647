/// belvo-api.md §1.1: an array is documented; an object and `{detail}` are what clients have met.
public enum ErrorForm: String, Switch { case array, object, detail }

/// belvo-api.md §1: the firewall answers 403 to what does not fit the API's schema.
public enum UnknownMembers: String, Switch {
    /// An HTML page with status 403, as a firewall writes it.
    case forbidden
    /// 400 with an error for each member.
    case refused
    /// Ignored, as if they were not there.
    case ignored
}

/// Django either knows no such path or redirects to the one with the slash.
public enum MissingSlash: String, Switch {
    case notFound = "not_found"
    case redirected
}

/// belvo-api.md §11, line 10.
public enum ListForm: String, Switch { case envelope, bare }

/// Whether something may be left out.
public enum Presence: String, Switch { case optional, required }

/// belvo-api.md §12.2: not documented, the path no more than the rest.
public enum TokenRefresh: String, Switch {
    /// 404, as for any path that Belvo does not have.
    case absent
    /// A new access token; the refresh token lives on.
    case kept
    /// A new access token and a new refresh token; the one that was used is spent.
    case rotated
}

/// belvo-api.md §12.8: not documented.
public enum DuplicateCustomers: String, Switch {
    /// A second customer with another id.
    case created
    /// The first one, with 200.
    case returned
    /// 400 on `identifier`.
    case refused
}

/// belvo-api.md §11, lines 4 and 5.
public enum CustomerReference: String, Switch {
    /// The customer's uuid alone.
    case identity
    /// The uuid, or an object with the customer's `identifier`.
    case identityOrObject = "identity_or_object"
}

/// belvo-api.md §11, line 3.
public enum AmountForm: String, Switch {
    case numberOrString = "number_or_string"
    case number, string
}

/// belvo-api.md §11, line 7: the direct guide has no `platform`, the SDK sends it.
public enum AuthorizePlatform: String, Switch { case refused, optional, required }

/// belvo-api.md §11, line 22.
public enum Tenure: String, Switch {
    case anyDay = "any_day"
    case creationDay = "creation_day"
}

/// The answer to the same `Belvo-Idempotency-Key`, with another body where nothing else is said (belvo-api.md §12.3).
public enum KeyReuse: String, Switch {
    /// The first answer.
    case replayed
    /// 409.
    case refused
    /// Another intent, and so with the same body: the key is not kept.
    case forgotten
}

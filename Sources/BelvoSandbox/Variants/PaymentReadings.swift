/// belvo-api.md §11, lines 14 and 15.
public enum IntentStates: String, Switch {
    /// PENDING, then SUCCEEDED, FAILED or CANCELED.
    case guide
    /// REQUIRES_ACTION after creation and PROCESSING after authorizing; charges begin as CREATED.
    case documented
}

/// belvo-api.md §6.1: `fido_options` may be null on creation and be there when read again.
public enum FIDOOptionsForm: String, Switch {
    case onCreation = "on_creation"
    case whenRead = "when_read"
}

/// belvo-api.md §11, line 16.
public enum LetterCase: String, Switch { case lower, upper }

/// belvo-api.md §11, line 21.
public enum WebhookToken: String, Switch {
    /// `Authorization: Bearer …`.
    case bearer
    /// `Authorization: …` with the token alone.
    case bare
}

/// belvo-api.md §8: older payloads have no `external_id`.
public enum WebhookExternalID: String, Switch { case present, absent }

/// belvo-api.md §11, line 20.
public enum WebhookReceipt: String, Switch {
    case exactly200 = "exactly_200"
    case any2xx = "any_2xx"
}

/// Whether webhooks leave as they arise, or wait until they are released.
public enum WebhookFlow: String, Switch { case running, held }

/// Whether lists of payment intents heed what they are filtered by, `external_id` aside.
public enum ListFilters: String, Switch { case heeded, ignored }

/// In which order lists of payment intents come.
public enum ListOrder: String, Switch {
    case newestFirst = "newest_first"
    case oldestFirst = "oldest_first"
    /// The other way round on every second page: some intents come twice, and some never.
    case turning
}

/// How far lists of payment intents go that are not asked by `external_id`.
public enum ListEnd: String, Switch {
    case whole
    /// Half of the first page, and no next one.
    case early
}

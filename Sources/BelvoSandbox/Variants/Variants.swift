/// The readings of Belvo's documents that the sandbox follows where they leave more than one open.
///
/// The defaults are the working decisions of belvo-api.md §11; each type says what its cases mean. All of
/// them can be changed while the sandbox runs, also over the control API (`/sandbox/variants`).
public struct Variants: Sendable, Equatable {
    /// The shape of an error's body.
    public var errors: ErrorForm = .array
    /// The answer to a body with a member that the documents do not name.
    public var unknownMembers: UnknownMembers = .forbidden
    /// The answer to a path without its trailing slash.
    public var missingSlash: MissingSlash = .notFound
    /// The shape of every list but the institutions, which are always paginated.
    public var lists: ListForm = .envelope
    /// The largest page; a larger `page_size` is cut down to it (belvo-api.md §1).
    public var pageSizeMax = 1000
    /// Whether the list of enrollments needs `device_id`.
    public var deviceFilter: Presence = .optional
    /// How long a new object stays out of every list, in milliseconds.
    public var listLagMilliseconds = 0
    /// How long lists go on showing an intent as it was before its last change, in milliseconds.
    public var listStateLagMilliseconds = 0
    /// Whether lists of intents heed their filters.
    public var listFilters: ListFilters = .heeded
    /// In which order lists of intents come.
    public var listOrder: ListOrder = .newestFirst
    /// How far lists of intents go.
    public var listEnd: ListEnd = .whole
    /// How long a new object answers 404 by its id, in milliseconds.
    public var readLagMilliseconds = 0

    /// Whether there is an endpoint that renews SDK access tokens, and what becomes of the refresh token.
    public var tokenRefresh: TokenRefresh = .absent

    /// The answer to a second customer with the same identifier.
    public var duplicateCustomers: DuplicateCustomers = .created
    /// How a `customer` may be named in requests.
    public var customerReference: CustomerReference = .identity
    /// How an `amount` may be spelled in requests.
    public var amounts: AmountForm = .numberOrString
    /// Whether authorizing carries `platform`.
    public var authorizePlatform: AuthorizePlatform = .refused
    /// Whether the signals that only phones have must be there for `IOS` and `ANDROID`.
    public var phoneSignals: Presence = .optional
    /// Whether `accountTenure` must be the day on which the customer was created.
    public var tenure: Tenure = .anyDay

    /// Whether `redirect_url` shows the `state`.
    public var redirect: RedirectForm = .openState
    /// Where the bank puts its answer in the callback.
    public var callback: CallbackForm = .query
    /// The effect of a `code` that the bank never issued.
    public var unknownCodes: UnknownCodes = .ignored
    /// The answer to a request for the FIDO registration options before they are there.
    public var fidoNotReady: NotReady = .withoutChallenge
    /// When the FIDO registration options are there.
    public var fidoReadiness: Readiness = .afterCalls(1)
    /// How the bytes in FIDO options are spelled.
    public var optionBytes: OptionBytes = .base64URL
    /// The platforms whose registration options carry the `appid` extension.
    public var appID: AppID = .phones
    /// The algorithms that a registration may choose from, the most wanted first.
    public var algorithms: Algorithms = .both
    /// The registration options' wish about keys that the authenticator keeps.
    public var residentKey: ResidentKey = .unsaid
    /// How much of what an authenticator gives has to be as the guide prints it.
    public var credentials: CredentialForm = .tolerant
    /// The challenges that a confirmation may use, of those that were handed out.
    public var challenges: Challenges = .latest
    /// The `details.status` of an enrollment that is FAILED.
    public var failedDetails: FailedDetails = .kept
    /// How the enrolled state of `details.status` is spelled.
    public var authorizedSpelling: AuthorizedSpelling = .american
    /// The member that represents the risk signals in answers.
    public var riskSignals: RiskSignalsForm = .masked

    /// When a confirmed enrollment reaches its end.
    public var enrollmentSettlement: Settlement = .whenTold
    /// When an authorized payment reaches its end.
    public var paymentSettlement: Settlement = .whenTold
    /// Whether intents and charges show the states between creation and end.
    public var intentStates: IntentStates = .guide
    /// Whether the answer to creating an intent has its `fido_options`.
    public var fidoOptions: FIDOOptionsForm = .onCreation
    /// The answer to the same idempotency key with another body.
    public var keyReuse: KeyReuse = .replayed
    /// The case of `failure_code` and `status_reason_code`.
    public var failureCodes: LetterCase = .lower

    /// How a webhook shows its token.
    public var webhookToken: WebhookToken = .bearer
    /// Whether a webhook has an `external_id`; older ones had none.
    public var webhookExternalID: WebhookExternalID = .present
    /// The answers that count as a webhook's receipt.
    public var webhookReceipt: WebhookReceipt = .exactly200
    /// How many times each webhook is sent at once; 0 loses them all.
    public var webhookCopies = 1
    /// Whether webhooks leave as they arise, or wait until they are released.
    public var webhookFlow: WebhookFlow = .running

    public init() {}
}

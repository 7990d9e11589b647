import HTTP

/// Everything the sandbox knows. One lock guards it; nothing in it waits.
struct SandboxState: Sendable {
    let configuration: SandboxConfiguration
    var variants: Variants
    /// How far the sandbox's clock was put forward.
    var clockOffset: Duration = .zero

    /// Belvo's id of the merchant, in `created_by`.
    let merchant: String
    let tokenKey: [UInt8]
    /// The ids of refresh tokens that were used up.
    var spentRefreshTokens: Set<String> = []
    var bankAccounts = Register<BankAccount>()
    var customers = Register<Customer>()
    var enrollments = Register<Enrollment>()
    var intents = Register<PaymentIntent>()
    var charges = Register<Charge>()
    var transactions = Register<Transaction>()
    /// Ids by what else they are looked up with, so that a day of load is not a day of searching.
    var customersByIdentifier: [String: String] = [:]
    var enrollmentsByState: [String: String] = [:]
    var intentsByExternalID: [String: [String]] = [:]
    /// Every credential that was registered: WebAuthn §7.1, step 26, takes each once.
    var credentialIDs: Set<[UInt8]> = []
    /// First answers by their idempotency key.
    var replays: [String: Replay] = [:]

    var agenda = Agenda()
    var outbox = Outbox()
    var faults = FaultPlan()
    var calls = CallLog()

    init(_ configuration: SandboxConfiguration) {
        self.configuration = configuration
        variants = configuration.variants
        merchant = configuration.entropy.uuid()
        tokenKey = configuration.entropy.bytes(32)
        let account = BankAccount(
            id: configuration.beneficiary, institution: configuration.institutions.first?.id ?? merchant,
            createdAt: configuration.now())
        bankAccounts.add(account)
    }

    var now: Timestamp { configuration.now() + clockOffset }
    var entropy: Entropy { configuration.entropy }

    /// The first answer to an idempotency key.
    struct Replay: Sendable {
        let bodyDigest: [UInt8]
        let response: Response
    }
}

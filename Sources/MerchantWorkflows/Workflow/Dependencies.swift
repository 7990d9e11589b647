import Belvo
import BelvoGate
import Logging
import MerchantModel
import MerchantStore
import Payments

/// Everything that the merchant's decisions need from outside, handed in as values.
package struct Dependencies: Sendable {
    package let store: Store
    /// Belvo, called on behalf of the user or worker that these dependencies were made for.
    package var belvo: Belvo.Client
    /// The gate that all calls to Belvo pass.
    package let gate: BelvoGate
    package let timeouts: Timeouts
    package let policy: Policy
    package let identities: Identities
    /// Notified of every change of a record that apps can see, once it is committed.
    package let changes: ChangeFeed
    /// Counts the states that records enter here.
    package let funnelCounts: FunnelCounts
    package let log: Logger
    /// Stores Belvo's webhooks.
    let webhookIntake = WebhookIntake()
    /// Notices when the database's clock goes back.
    var clockWatch = ClockWatch()
    /// The enrollments that Belvo has shown to be usable a moment ago.
    let usableEnrollments = UsableEnrollments()
    /// How often one user's payments may be remembered and not get to Belvo: each leaves a row.
    let unsentPayments = RateLimiter(interval: .seconds(20), burst: 60)
    /// How Belvo's lists are used to poll payments.
    package var listPolling = ListPolling()
    /// The knowledge about those lists.
    let listMemory = ListMemory()

    package init(
        store: Store, belvo: Belvo.Client, gate: BelvoGate, timeouts: Timeouts, policy: Policy, identities: Identities,
        changes: ChangeFeed, funnelCounts: FunnelCounts, log: Logger
    ) {
        self.store = store
        self.belvo = belvo
        self.gate = gate
        self.timeouts = timeouts
        self.policy = policy
        self.identities = identities
        self.changes = changes
        self.funnelCounts = funnelCounts
        self.log = log
    }
}

/// The request under which something happens: its cause, and the trace that is sent to Belvo.
package struct CallContext: Sendable {
    let cause: Cause
    let trace: TraceParent?

    package init(cause: Cause, trace: TraceParent?) {
        self.cause = cause
        self.trace = trace
    }

    static let poller = CallContext(cause: .poller, trace: nil)
    static let webhook = CallContext(cause: .webhook, trace: nil)
}

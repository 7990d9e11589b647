import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantAuth
import MerchantModel
import MerchantStore
import Payments
import Synchronization

/// Everything that the merchant's decisions need from outside, handed in as values.
package struct Dependencies: Sendable {
    package let store: Store
    /// Belvo, called on behalf of the user or worker that these dependencies were made for.
    package var belvo: Belvo.Client
    /// What all calls to Belvo pass.
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
    /// Which enrollments Belvo has shown to be usable a moment ago.
    let usableEnrollments = UsableEnrollments()
    /// How Belvo's lists are used to poll payments.
    package var listPolling = ListPolling()
    /// What is known of those lists.
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

/// What the merchant has decided once and for all.
package struct Policy: Sendable {
    /// The account that is paid. It never comes from an app.
    let beneficiaryBankAccount: UUID
    /// The most that one payment may be.
    package let paymentMax: Money
    /// Whether a payment needs an order that sets its price.
    package let requiresOrders: Bool
    /// What the shop shows to place orders; without it they come by SQL alone.
    package let shop: SharedBearer?
    /// Whether the shop wants events about payments and enrollments.
    let emitsShopEvents: Bool
    /// What Belvo's webhooks show.
    package let webhooks: SharedBearer
    /// Whether apps get tokens for Belvo's SDK, which can do more at Belvo than one user should.
    package let mintsWidgetTokens: Bool
    /// Where Belvo renews those tokens; nil where they are minted anew.
    let tokenRefreshPath: String?
    /// Redirects of strangers that may wait for Belvo at a time.
    let unknownRedirectsMax: Int
    /// What one user may have open.
    package let userBounds: UserBounds
    /// Where banks may send users back to; the first one unless an app names another.
    package let callbackURLs: [String]

    package init(
        beneficiaryBankAccount: UUID, paymentMax: Money, requiresOrders: Bool, shop: SharedBearer?,
        emitsShopEvents: Bool, webhooks: SharedBearer, mintsWidgetTokens: Bool, tokenRefreshPath: String?,
        unknownRedirectsMax: Int, userBounds: UserBounds, callbackURLs: [String]
    ) {
        self.beneficiaryBankAccount = beneficiaryBankAccount
        self.paymentMax = paymentMax
        self.requiresOrders = requiresOrders
        self.shop = shop
        self.emitsShopEvents = emitsShopEvents
        self.webhooks = webhooks
        self.mintsWidgetTokens = mintsWidgetTokens
        self.tokenRefreshPath = tokenRefreshPath
        self.unknownRedirectsMax = unknownRedirectsMax
        self.userBounds = userBounds
        self.callbackURLs = callbackURLs
    }
}

/// Makes the ids of new records: time-ordered, before the database or Belvo is asked.
package final class Identities: Sendable {
    private let generator = Mutex(UUIDv7Generator())
    private let now: @Sendable () -> Timestamp
    private let random: RandomSource

    /// - Parameter draw: gives 64 random bits.
    package init(
        now: @escaping @Sendable () -> Timestamp,
        draw: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.now = now
        random = RandomSource(draw: draw)
    }

    package func next() -> UUID {
        var random = random
        return generator.withLock { $0.next(at: now(), using: &random) }
    }

    private struct RandomSource: RandomNumberGenerator, Sendable {
        let draw: @Sendable () -> UInt64

        func next() -> UInt64 { draw() }
    }
}

/// Under which request something happens: who caused it, and the trace that is sent to Belvo.
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

/// Why a request was not granted, in the merchant's terms. What each case means over HTTP stands in `APIError`.
package enum WorkflowRefusal: Error, Sendable, Equatable {
    /// There is no such record of this user's.
    case notFound
    /// The user has to become a customer first.
    case customerRequired
    /// The user is a customer with another tax number.
    case identifierDiffers
    /// Belvo has the tax number under another account.
    case identifierInUse
    /// The risk signals name another day than the customer's own.
    case accountTenureDiffers(expected: AccountTenure)
    /// The bank does not offer Biometric Pix, or does not exist.
    case institutionUnavailable
    /// Belvo knows no enrollment with this `state`.
    case redirectUnknown
    /// So many redirects of strangers wait that there is no room for another one.
    case unknownRedirectsFull
    /// The user has so many open enrollments that there may be no other.
    case tooManyOpenEnrollments
    /// The user has so many open payments that there may be no other.
    case tooManyOpenPayments
    /// The user has begun so many enrollments within a day that the next one has to wait.
    case tooManyEnrollments(retryAfter: Duration)
    /// The enrollment has failed.
    case enrollmentFailed
    /// Belvo has refused the phone's registration, and with it the enrollment.
    case confirmationRefused(Failure?, belvoRequestID: String?)
    /// What was asked for does not fit the record's present state.
    case wrongState(String)
    /// It was done before, with something else.
    case alreadyDone
    /// The payment names an enrollment that the user does not have.
    case enrollmentUnknown
    /// The payment names an enrollment that cannot be used.
    case enrollmentNotUsable
    /// An earlier payment for the reference may still be paid. Apps know it as `payment_in_doubt`.
    case referenceBusy(Payment.ID?)
    /// Belvo refused it, or it has failed since.
    case paymentFailed(Failure?)
    /// The reference was paid.
    case alreadyPaid(Payment.ID?)
    /// Without an order no price can be trusted.
    case orderRequired
    /// The merchant has no such order for this user.
    case orderUnknown
    /// The order's time is over.
    case orderExpired
    /// Without an order these have to be named.
    case termsMissing([String])
    /// These members are not what the order says.
    case differsFromOrder([String])
    /// A payment for the order is live, in doubt, or has paid it.
    case orderInUse(Payment.ID?)
    /// The amount is more than a payment without redirection may be.
    case amountTooHigh(max: Money)
    /// The idempotency key stands for another request.
    case idempotencyKeyReused
    /// The first request with this key is still being worked on.
    case inProgress
    /// The phone signed something else than what it was given.
    case clientDataInvalid(SignedPart)
    /// Many changed the record at once, and this writer lost every race.
    case contended
}

/// What reading Belvo about a record brought.
enum RemoteState<Event: Sendable>: Sendable {
    case event(Event)
    /// Belvo's lists do not have it.
    case absent
    /// Belvo could not be read; nothing may be concluded.
    case unreadable
}

/// The member of a request whose client data is wrong, and how.
package struct SignedPart: Sendable, Equatable {
    /// A JSON Pointer.
    package let member: String
    package let fault: ClientData.Fault
}

/// The answer to an app about a request that reached Belvo.
package enum Progress<Resource: Sendable>: Sendable {
    /// It is done, and Belvo has said so.
    case done(Resource)
    /// It was sent, and what became of it is not known yet.
    case pending(Resource)

    package var resource: Resource {
        switch self {
        case .done(let resource), .pending(let resource): resource
        }
    }
}

/// What a failed call to Belvo means for the request. Three properties rest on what an answer says, and an answer may
/// be wrong: something in front of Belvo may refuse what Belvo has done. Only `wasNotSent` is certain.
extension BelvoError {
    /// Whether the failure says that the request had no effect, so that the same may be tried again: it was not sent,
    /// or it was answered with 401, 403, 404, 410, 425 or 429. Good enough for what moves no money.
    var saysNoEffect: Bool {
        switch self {
        case .denied, .throttled, .unreachable, .notFound: true
        case .refused, .conflict, .unanswered, .malformedAnswer, .outcomeUnknown: false
        }
    }

    /// Whether an answer of Belvo's says that the request was not let in (401, 403, 404, 425, 429), so that the app may
    /// send its signature again (reliability.md, promise 3). The signature has left all the same.
    var saysNotLetIn: Bool {
        switch self {
        case .denied, .throttled: true
        case .notFound(let refusal): refusal.status == 404
        default: false
        }
    }

    /// Whether the failure leaves it open what became of the request: it neither refuses its content nor says that it
    /// had no effect.
    var mayHaveTakenEffect: Bool { refusal == nil && !saysNoEffect }

    /// Whether nothing of the request has left this machine, so that Belvo cannot have it. An answer never says this.
    var wasNotSent: Bool {
        if case .unreachable = self { true } else { false }
    }

    /// Whether Belvo refused the content.
    var refusal: Belvo.ErrorResponse? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}

/// Belvo refused a question that holds nothing of the app's: what is wrong with it is this server's to mend.
package struct InternalError: Error, CustomStringConvertible {
    package let refusal: Belvo.ErrorResponse

    package init(refusal: Belvo.ErrorResponse) {
        self.refusal = refusal
    }

    package var description: String { "Belvo refused a question of our own: \(refusal)" }
}

extension BelvoError {
    /// The same, for an app that sent nothing that Belvo could have refused.
    package var notCausedByApp: any Error {
        switch self {
        case .refused(let refusal), .conflict(let refusal): InternalError(refusal: refusal)
        default: self
        }
    }
}

extension Failure {
    /// Belvo's no, in its own first words.
    static func refused(_ refusal: Belvo.ErrorResponse) -> Failure {
        let item = refusal.items.first
        return Failure(code: item?.code ?? "refused", message: item?.message, authority: .merchant)
    }
}

/// How long to wait before the next attempt to read or to send, after so long a time: 1 s, 2 s, 4 s and so on, a minute
/// at most.
func retryPause(after age: Duration) -> Duration {
    var pause = Duration.seconds(1)
    while pause < .seconds(60), age >= pause * 2 - .seconds(1) { pause *= 2 }
    return min(pause, .seconds(60))
}

/// How often a change is tried again when another writer was faster.
let attemptsMax = 8

import MerchantModel
import Payments
import Transport

/// On whose behalf Belvo is called: bound around a request's work, or a worker's on a record, and read by the gate for
/// each of its calls.
///
/// A task-local value and no argument, because nothing on the way from the request to the gate decides anything by it.
package struct CallOrigin: Sendable {
    /// The party that takes turns in a line: a user, or the address of a stranger.
    package let party: UInt64
    /// Whether the call is for a stranger's redirect.
    let isStranger: Bool
    /// Which of the lines of workers it waits in; they take turns. 0 is that of all but what has a line of its own.
    let workLine: Int
    /// The institution whose records the calls are about; 0 where that is not known.
    private(set) var institution: UInt64 = 0
    /// Whether the calls finish what an earlier call of the same request has begun.
    private(set) var isContinued = false
    /// Whether the calls go on with what an earlier request has begun.
    private(set) var isGoingOn = false

    /// How many lines of workers there are.
    static let workLines = 3

    private init(party: UInt64, isStranger: Bool, workLine: Int = 0) {
        self.party = party
        self.isStranger = isStranger
        self.workLine = workLine
    }

    /// A user of the merchant's.
    package static func user(_ subject: UserSubject) -> CallOrigin {
        CallOrigin(party: seededHash(of: subject), isStranger: false)
    }

    /// A client without a token from this address.
    package static func address(_ address: IPAddress) -> CallOrigin {
        CallOrigin(party: seededHash(of: address.subscriber), isStranger: true)
    }

    /// A worker that reads what webhooks name and is not known here. All of that is one party: who can have Belvo send
    /// webhooks of objects that Belvo cannot read is not to shut the gate by them. However many come, polls have their
    /// turns between them.
    package static let webhooks = CallOrigin(party: unknown, isStranger: false, workLine: 2)

    /// The same, of webhooks that waited in the database. However many they are, they keep neither the others nor polls
    /// waiting for their turns.
    package static let storedWebhooks = CallOrigin(party: unknown, isStranger: false, workLine: 1)

    /// The same, for what has been read in vain before: it has places of its own, fewer, and keeps none waiting that is
    /// to be read for the first time.
    package var again: CallOrigin {
        CallOrigin(party: Self.unknownAgain, isStranger: isStranger, workLine: workLine)
    }

    /// A worker's call that shows many users' records: it goes before those about single ones, of which it spares more
    /// than it is.
    package static let aboutMany = {
        var origin = CallOrigin(party: 0, isStranger: false)
        origin.isContinued = true
        return origin
    }()

    /// The party of all that is not known to be a user's.
    static let unknown: UInt64 = 1
    private static let unknownAgain: UInt64 = 2

    /// A worker that processes strangers' redirects.
    package static let strangersWorker = CallOrigin(party: 0, isStranger: true)

    /// The same worker, for what has turned out to be this user's: what Belvo answers about it concerns no other one.
    package func reading(of subject: UserSubject) -> CallOrigin {
        CallOrigin(party: seededHash(of: subject), isStranger: isStranger, workLine: workLine)
    }

    /// The same, for what has turned out to be a stranger's.
    package var asStranger: CallOrigin { CallOrigin(party: party, isStranger: true) }

    /// Runs work whose calls are about records of this institution.
    package static func about<Value>(
        _ institution: (some Hashable)?, _ work: () async throws -> Value
    ) async rethrows -> Value {
        guard let institution, let origin = current else { return try await work() }
        return try await $current.withValue(origin.about(institution), operation: work)
    }

    /// The same origin, for calls about records of this institution.
    package func about(_ institution: some Hashable) -> CallOrigin {
        var origin = self
        origin.institution = seededHash(of: institution)
        return origin
    }

    /// Runs work whose calls finish what this request has begun: they go before calls that begin something.
    package static func continuing<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        guard var origin = current else { return try await work() }
        origin.isContinued = true
        return try await $current.withValue(origin, operation: work)
    }

    /// Runs work whose calls go on with what an earlier request has begun, readings of an enrollment, too: else such a
    /// reading is taken to come before a payment.
    package static func goingOn<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        guard var origin = current else { return try await work() }
        origin.isGoingOn = true
        return try await $current.withValue(origin, operation: work)
    }

    @TaskLocal package static var current: CallOrigin?
}

import Crypto
import FoundationEssentials
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

/// A resource that an app may wait for.
enum WaitableResource: Sendable {
    case customer
    case enrollment(Enrollment.ID)
    case registrationOptions(Enrollment.ID)
    case payment(Payment.ID)

    /// The resource that the operation reads, if it reads a single one.
    init?(_ waitable: Operation.Waitable, _ inbound: Inbound) throws(APIError) {
        switch waitable {
        case .nothing: return nil
        case .customer: self = .customer
        case .enrollment: self = .enrollment(try inbound.id())
        case .registrationOptions: self = .registrationOptions(try inbound.id())
        case .payment: self = .payment(try inbound.id())
        }
    }

    /// The record whose changes change the resource. A user's customer has to be read to know it.
    var record: UUID? {
        switch self {
        case .customer: nil
        case .enrollment(let id), .registrationOptions(let id): id.uuid
        case .payment(let id): id.uuid
        }
    }
}

/// A resource as it is at one moment.
struct ResourceSnapshot: Sendable {
    /// The answer to a GET.
    let response: Response
    /// The tag of the resource's state. Nil while there is nothing to show yet.
    let tag: EntityTag?
    /// Whether waiting would bring nothing more.
    let isFinal: Bool
    let record: UUID

    /// The answer to a request that does not wait.
    func answer(to inbound: Inbound) -> Response {
        answer(ifNoneMatch: IfNoneMatch(inbound.request.headers))
    }

    /// The answer to a client that has these states already.
    func answer(ifNoneMatch known: IfNoneMatch?) -> Response {
        guard let tag, let known, known.holds(tag) else { return response }
        return .notModified(tag)
    }

    /// Whether the client would learn something from the answer that it does not know.
    func isNew(to known: IfNoneMatch?) -> Bool {
        guard let tag else { return false }
        return !(known?.holds(tag) ?? false)
    }
}

extension API {
    /// Answers a GET with `wait`: as soon as the resource is another than the client has, else when the time is up.
    ///
    /// Nothing is answered here when the request has no query.
    nonisolated(nonsending) func waitForChange(_ operation: Operation, _ inbound: Inbound) async throws -> Reply? {
        let waitable = operation.row.waitable
        guard inbound.request.target.query != nil, waitable != .nothing else { return nil }
        let subject = try await user(of: inbound)
        let wait = try inbound.query(["wait"]).wait()
        guard let waitable = try WaitableResource(waitable, inbound) else { return nil }
        guard let wait else { return .response(try await fetch(waitable, of: subject).answer(to: inbound)) }
        try access.inFlight.admitLongPoll(
            besides: dependencies.changes.watching, retryAfter: .seconds(max(1, pollInterval.components.seconds)))
        return try await LongPoll(
            on: waitable, of: subject, unlike: IfNoneMatch(inbound.request.headers), within: wait,
            for: inbound, through: self
        ).begin()
    }

    /// Reads a resource as it is now. Throws when there is none of this user's.
    nonisolated(nonsending) func fetch(_ waitable: WaitableResource, of subject: UserSubject) async throws
        -> ResourceSnapshot
    {
        switch waitable {
        case .customer:
            let customer = try await CustomerWorkflow(dependencies: dependencies).customer(of: subject)
            return snapshot(
                customer.json(pollAfter: pollInterval), isFinal: customer.record.state != .creating,
                of: customer.record.id.uuid)
        case .enrollment(let id):
            let enrollment = try await EnrollmentWorkflow(dependencies: dependencies).enrollment(id, of: subject)
            return snapshot(
                enrollment.json(pollAfter: pollInterval), isFinal: enrollment.record.status != .pending, of: id.uuid)
        case .registrationOptions(let id):
            let enrollment = try await EnrollmentWorkflow(dependencies: dependencies).enrollment(id, of: subject)
            if enrollment.record.state == .failed { throw WorkflowRefusal.enrollmentFailed }
            if let options = enrollment.record.registrationOptions {
                return snapshot(options, isFinal: true, of: id.uuid)
            }
            return ResourceSnapshot(
                response: notReady, tag: nil, isFinal: enrollment.record.status != .pending, record: id.uuid)
        case .payment(let id):
            let payment = try await PaymentWorkflow(dependencies: dependencies).payment(id, of: subject)
            return snapshot(
                payment.json(pollAfter: pollInterval), isFinal: payment.record.status != .pending, of: id.uuid)
        }
    }

    /// A single resource, with the tag of its state.
    func resource(_ status: HTTP.Status, _ body: [UInt8]) -> Response {
        var response = json(status, body)
        response.headers.append(.etag, EntityTag(of: body).description)
        return response
    }

    /// The options of an enrollment that has none yet.
    var notReady: Response {
        var response = json(.accepted, pollOnly)
        response.headers.append(.retryAfter, "\(max(1, pollInterval.components.seconds))")
        return response
    }

    private func snapshot(_ body: [UInt8], isFinal: Bool, of record: UUID) -> ResourceSnapshot {
        let tag = EntityTag(of: body)
        var response = json(.ok, body)
        response.headers.append(.etag, tag.description)
        return ResourceSnapshot(response: response, tag: tag, isFinal: isFinal, record: record)
    }
}

extension EntityTag {
    /// The tag of a resource with this body: half of the body's SHA-256.
    ///
    /// 128 bits are enough: an app compares the tags of its own records, and cannot choose what they hold.
    init(of body: [UInt8]) {
        self.init(digits: Base64URL.encode(SHA256.hash(data: body).prefix(16)))
    }
}

extension Response {
    /// The client has it already: what a 200 would have had but for the body and its type (RFC 9110 §15.4.5).
    static func notModified(_ tag: EntityTag) -> Response {
        var response = Response(.notModified, headers: Self.notModifiedHeaders)
        response.headers.append(.etag, tag.description)
        return response
    }

    private static let notModifiedHeaders: Headers = ["cache-control": "no-store"]
}

extension HeaderName {
    /// Made once: a name is checked when it is made.
    static let etag: HeaderName = "etag"
    static let retryAfter: HeaderName = "retry-after"
}

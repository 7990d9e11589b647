import Belvo
import FoundationEssentials
import JSON
import Logging
import Payments

/// How a bank's redirect reaches Belvo: stored before anything else, passed on once, whoever brought it.
///
/// A `state` that stood in a redirect address tells whose it is. Where the bank hid it, Belvo's answer does.
struct RedirectionJourney: Sendable {
    let world: World

    /// What came of a redirect.
    enum Result: Sendable {
        /// The enrollment as it is now.
        case settled(Stored<Enrollment>)
        /// Stored, and on its way; the enrollment, if it is known whose it is.
        case pending(Stored<Enrollment>?)
    }

    private var enrollments: EnrollmentJourney { EnrollmentJourney(world: world) }

    /// Takes a redirect from an app (`poster` is its user) or from a browser (nobody).
    func receive(
        _ redirection: Redirection, from poster: UserSubject?, on occasion: Occasion
    ) async throws -> Result {
        let owner = try await world.store.enrollment(redirectState: redirection.state)
        if let owner, let poster, owner.record.subject != poster { throw JourneyRefusal.notFound }
        let body = redirection.json
        let (receipt, isNew) = try await world.store.insertReceipt(
            id: world.identities.next(), digest: world.store.vault.lookup(body, for: .redirectReceipt),
            redirectState: redirection.state, enrollment: owner?.record.id, postedBy: poster,
            isError: redirection.isRejection, body: body, nextLook: world.patience.callDeadline + .seconds(5))
        if isNew || receipt.record.outcome == .received {
            return try await passOn(redirection, receipt, from: poster, on: occasion)
        }
        return try await repeated(receipt, by: poster)
    }

    /// Tries again to pass on what could not be sent, or settles what was sent and never answered.
    func look(at receipt: Stored<RedirectReceipt>) async throws {
        if receipt.record.outcome == .sent {
            // The server that sent it is gone. Sending a one-shot code again could spoil the enrollment.
            if let enrollment = try await owner(of: receipt), enrollment.record.state == .completing {
                try await enrollments.record(.redirectPassedOn, on: enrollment, cause: .poller)
            }
            _ = try await world.store.update(receipt, to: .unknown)
            return
        }
        let age = receipt.clock.now - receipt.record.receivedAt
        guard let body = receipt.record.body, age < world.patience.userDeadline else {
            _ = try await world.store.update(receipt, to: .expired)
            return
        }
        _ = try await passOn(
            try Redirection(json: body), receipt, from: receipt.record.postedBy, on: .poller)
    }

    /// A redirect that came before: the answer is what became of it.
    private func repeated(_ receipt: Stored<RedirectReceipt>, by poster: UserSubject?) async throws -> Result {
        guard let enrollment = try await owner(of: receipt) else { return .pending(nil) }
        if let poster, enrollment.record.subject != poster { throw JourneyRefusal.notFound }
        return receipt.record.outcome == .sent || receipt.record.outcome == .unknown
            ? .pending(enrollment) : .settled(enrollment)
    }

    private func passOn(
        _ redirection: Redirection, _ receipt: Stored<RedirectReceipt>, from poster: UserSubject?,
        on occasion: Occasion
    ) async throws -> Result {
        var enrollment = try await owner(of: receipt)
        if let known = enrollment {
            switch known.record.state {
            case .creating, .atBank: break
            case .failed where known.record.failure?.authority == .merchant: break
            case .completing:
                // Another redirect of the same enrollment is on its way. This one waits for its outcome.
                _ = try await world.store.update(receipt, to: .received, nextLook: world.patience.pollInterval)
                return .pending(known)
            default:
                _ = try await world.store.update(receipt, to: .expired)
                return .settled(known)
            }
        }
        // Whoever marks it sends it: of two at once only one finds this version.
        guard
            let sent = try await world.store.update(
                receipt, to: .sent, nextLook: world.patience.callDeadline + .seconds(5))
        else { return .pending(enrollment) }
        if let known = enrollment {
            enrollment = try await enrollments.record(.redirectReceived, on: known, cause: occasion.cause)
        }
        do {
            let answer = try await world.belvo.completeRedirection(redirection, trace: occasion.trace)
            return try await settle(sent, enrollment, by: answer, poster: poster, on: occasion)
        } catch let error as BelvoError {
            return try await settle(sent, enrollment, after: error, poster: poster, on: occasion)
        }
    }

    /// Belvo took it and says whose it is.
    private func settle(
        _ receipt: Stored<RedirectReceipt>, _ expected: Stored<Enrollment>?, by answer: Belvo.Enrollment,
        poster: UserSubject?, on occasion: Occasion
    ) async throws -> Result {
        if let known = expected?.record.belvoID, known != answer.id.uuid {
            // A mix-up, of Belvo's or of somebody's making: nothing is concluded from it but that it was sent.
            world.log.error(
                "redirect.answered_for_another",
                metadata: ["receipt_id": "\(receipt.record.id)", "belvo_id": "\(answer.id)"])
            _ = try await world.store.update(receipt, to: .unknown)
            guard let expected else { return .pending(nil) }
            return .pending(try await enrollments.record(.redirectPassedOn, on: expected, cause: occasion.cause))
        }
        var owner = expected
        if owner == nil { owner = try await world.store.enrollment(belvoID: answer.id.uuid) }
        _ = try await world.store.update(receipt, to: .taken, enrollment: owner?.record.id)
        guard var enrollment = owner else { return .pending(nil) }
        if expected == nil, enrollment.record.state == .atBank {
            enrollment = try await enrollments.record(.redirectReceived, on: enrollment, cause: occasion.cause)
        }
        if enrollment.record.state == .completing {
            enrollment = try await enrollments.record(.redirectPassedOn, on: enrollment, cause: occasion.cause)
        }
        enrollment = try await enrollments.record(
            .reported(enrollments.report(answer)), on: enrollment, cause: occasion.cause)
        // The owner's enrollment goes on; whoever posted somebody else's code learns nothing.
        if let poster, enrollment.record.subject != poster { throw JourneyRefusal.notFound }
        return .settled(enrollment)
    }

    /// Belvo did not take it, or nobody knows.
    private func settle(
        _ receipt: Stored<RedirectReceipt>, _ enrollment: Stored<Enrollment>?, after error: BelvoError,
        poster: UserSubject?, on occasion: Occasion
    ) async throws -> Result {
        if error.refusal != nil {
            // A bad code does not use up the enrollment: a good one may still come.
            _ = try await world.store.update(receipt, to: .refused)
            if let enrollment { try await enrollments.record(.redirectNotTaken, on: enrollment, cause: occasion.cause) }
            throw error
        }
        if error.leftNothing {
            // Kept, and tried again by itself: the user has long left the bank.
            _ = try await world.store.update(receipt, to: .received, nextLook: world.patience.pollInterval)
            if let enrollment { try await enrollments.record(.redirectNotTaken, on: enrollment, cause: occasion.cause) }
            throw error
        }
        _ = try await world.store.update(receipt, to: .unknown)
        guard let enrollment else {
            if let poster { try await world.store.hasten(enrollmentsAtBankOf: poster) }
            return .pending(nil)
        }
        return .pending(try await enrollments.record(.redirectPassedOn, on: enrollment, cause: occasion.cause))
    }

    private func owner(of receipt: Stored<RedirectReceipt>) async throws -> Stored<Enrollment>? {
        guard let id = receipt.record.enrollment else { return nil }
        return try await world.store.enrollment(id)
    }
}

extension Redirection {
    var state: String {
        switch self {
        case .approved(let state, _, _), .rejected(let state, _, _): state
        }
    }

    var isRejection: Bool {
        if case .rejected = self { true } else { false }
    }

    /// What is encrypted until Belvo has it, and what tells one redirect from another.
    var json: [UInt8] {
        JSONWriter.object { text in
            switch self {
            case .approved(let state, let code, let idToken):
                text.member("state", state)
                text.member("code", code)
                text.member("id_token", idToken)
            case .rejected(let state, let error, let errorDescription):
                text.member("state", state)
                text.member("error", error)
                text.member("error_description", errorDescription)
            }
        }
    }

    init(json bytes: [UInt8]) throws {
        let reader = JSONReader(try JSONDocument(parsing: bytes).root)
        guard let state = reader.string("state") else { throw reader.faults }
        if let error = reader.optionalString("error") {
            self = .rejected(
                state: state, error: error, errorDescription: reader.optionalString("error_description"))
        } else {
            guard let code = reader.string("code") else { throw reader.faults }
            self = .approved(state: state, code: code, idToken: reader.optionalString("id_token"))
        }
    }
}

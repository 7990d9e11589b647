import Belvo
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How a user becomes Belvo's customer: remembered, asked for once, recorded.
package struct CustomerWorkflow: Sendable {
    let dependencies: Dependencies

    /// How often a user's customer may be tried within a day, where Belvo refuses it.
    static let creationsPerDayMax = 20

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// Creates the user's customer, or returns the one there is; `isNew` when it was made by this request.
    package func put(
        _ person: Customer.Person, for subject: UserSubject, on context: CallContext
    ) async throws -> (progress: Progress<Stored<Customer>>, isNew: Bool) {
        let customer = Customer(
            id: Customer.ID(dependencies.identities.next()), subject: subject, person: person, createdAt: .earliest)
        let plan = PollPlan.entered(customer.creationSchedule(dependencies.timeouts)).claimed
        if let made = try await dependencies.store.insert(customer, plan: plan, cause: context.cause) {
            return (try await creation(on: context).begin(made).progress, true)
        }
        for _ in 0..<attemptsMax {
            guard let known = try await dependencies.store.customer(of: subject) else { break }
            switch known.record.state {
            case .created:
                guard known.record.person.taxID == person.taxID else { throw WorkflowRefusal.identifierDiffers }
                return (.done(known), false)
            case .creating:
                guard known.record.person.taxID == person.taxID else { throw WorkflowRefusal.identifierDiffers }
                let progress = try await creation(on: context).resume(known).progress
                // What has turned out to be lost is tried anew.
                if progress.resource.record.state != .failed { return (progress, true) }
            case .failed:
                // Each attempt is a call to Belvo, and two lines of the history, which stay.
                if let wait = try await dependencies.store.untilNextCreation(
                    of: known.record.id, perDayMax: Self.creationsPerDayMax)
                {
                    throw WorkflowRefusal.tooManyCustomerCreations(retryAfter: wait)
                }
                var again = try known.record.transition(on: .triedAgain)
                again.person = person
                guard
                    let claimed = try await write(
                        again, over: known, event: "tried_again", plan: plan, cause: context.cause)
                else { throw WorkflowRefusal.inProgress }
                return (try await creation(on: context).begin(claimed).progress, true)
            }
        }
        throw WorkflowRefusal.contended
    }

    /// The user's customer; `notFound` where there is none.
    package func customer(of subject: UserSubject) async throws -> Stored<Customer> {
        guard let customer = try await dependencies.store.customer(of: subject) else { throw WorkflowRefusal.notFound }
        return customer
    }

    /// Writes the next state and announces it; nothing comes back when another writer was faster.
    private func write(
        _ next: Customer, over stored: Stored<Customer>, event: String, plan: PollPlan, cause: Cause
    ) async throws -> Stored<Customer>? {
        let written = try await refusingRepeatedID(of: next) {
            try await dependencies.store.update(stored, to: next, event: event, plan: plan, cause: cause)
        }
        if let written, written.record != stored.record { dependencies.changes.announce(written.record.id) }
        return written
    }

    /// The creation of the customer at Belvo, with the row's values: the same request again may be spelled otherwise.
    private func creation(on context: CallContext) -> RemoteCreation<CustomerWorkflow> {
        RemoteCreation(workflow: self, context: context) { customer, belvo in
            let person = customer.person
            // Where Belvo has it and does not say since when, reading shows it.
            return Customer.Event(
                try await belvo.createCustomer(
                    NewCustomer(
                        externalID: customer.id.description, identifier: person.taxID.text, name: person.name.text,
                        email: person.email?.text, phone: person.phone?.text),
                    trace: context.trace))
        }
    }

    private func plan(_ next: Customer, over stored: Stored<Customer>) -> PollPlan {
        guard next.state == .creating else { return .entered(nil) }
        return .goesOn(nextPoll: nextPoll(at: stored) ?? dependencies.timeouts.pollInterval, deadline: stored.deadline)
    }
}

// Creating.
extension CustomerWorkflow: CreationWorkflow {
    var table: DueTable { .customers }

    /// A customer's request has no key: there is one customer for each user.
    func writeCreation(
        _ next: Customer, over stored: Stored<Customer>, after event: Customer.Event, cause: Cause,
        settling: (Stored<Customer>) -> IdempotencySettlement
    ) async throws -> Stored<Customer>? {
        try await write(next, over: stored, event: event.name, plan: plan(next, over: stored), cause: cause)
    }

    func mayBeThere(after error: BelvoError) -> Bool { error.saysIdentifierIsTaken }

    /// Belvo has a customer with this tax number, and none under our name: it is another person's.
    func end(after error: BelvoError) -> (event: Customer.Event, refusal: WorkflowRefusal)? {
        guard error.saysIdentifierIsTaken else { return nil }
        return (.notCreated(code: Customer.identifierInUse), .identifierInUse)
    }
}

// Polling, for handlers and workers alike.
extension CustomerWorkflow: PolledWorkflow {
    /// Searches Belvo for a customer whose creation was sent and never answered.
    func readRemoteState(of customer: Customer, from belvo: Belvo.Client) async -> RemoteState<Customer.Event> {
        guard customer.state == .creating else { return .unreadable(again: nil) }
        do {
            let found = try await belvo.findCustomers(externalID: customer.id.description)
            // Of several the oldest: its age is what banks have seen.
            let first = found.min { ($0.createdAt ?? "") < ($1.createdAt ?? "") }
            guard let first else { return .absent }
            for twin in found where twin.id != first.id { logTwin(twin.id.uuid, of: customer) }
            guard let event = Customer.Event(first) else {
                dependencies.log.error("customer.without_creation_time", metadata: ["customer_id": "\(customer.id)"])
                return .unreadable(again: nil)
            }
            return .event(event)
        } catch {
            dependencies.log.warning(
                "customer.unreadable", metadata: ["customer_id": "\(customer.id)", "reason": "\(error)"])
            return .unreadable(after: error)
        }
    }

    func timeoutEvent(of customer: Customer, after remote: RemoteState<Customer.Event>) -> Customer.Event? {
        if case .absent = remote { .notCreated(code: Failure.creationLost.code) } else { nil }
    }

    func write(
        _ next: Customer, over stored: Stored<Customer>, after event: Customer.Event, causedBy cause: Cause
    ) async throws -> Stored<Customer>? {
        try await write(next, over: stored, event: event.name, plan: .entered(nil), cause: cause)
    }

    func fresh(_ stored: Stored<Customer>) async throws -> Stored<Customer>? {
        try await dependencies.store.customer(of: stored.record.subject)
    }

    func nextPoll(at stored: Stored<Customer>) -> Duration? {
        guard stored.record.state == .creating else { return nil }
        let timeouts = dependencies.timeouts
        guard let deadline = stored.deadline else { return timeouts.pollInterval }
        if stored.isOverdue { return timeouts.overduePollInterval(overdue: stored.clock.now - deadline) }
        return timeouts.creationPollInterval(age: stored.creationAge(timeouts))
    }
}

extension BelvoError {
    /// Whether Belvo says that it has a customer with this tax number already: 409, or a fault of `identifier` that a
    /// word for a repeated value names (belvo-api.md §3.1 leaves open which).
    fileprivate var saysIdentifierIsTaken: Bool {
        switch self {
        case .conflict: true
        case .refused(let refusal):
            refusal.items.contains { item in
                let words = [item.code, item.message].compactMap { $0?.lowercased() }
                let isRepeated = words.contains { text in
                    ["unique", "exist", "duplicate", "already"].contains { text.contains($0) }
                }
                return item.field == "identifier" && isRepeated
            }
        default: false
        }
    }
}

extension Customer.Event {
    /// The event of Belvo's answer, if it shows since when the customer exists: the account tenure needs it.
    init?(_ customer: Belvo.Customer) {
        // A time that cannot be read is as good as none.
        guard let createdAt = customer.createdAt.flatMap({ try? Timestamp($0) }) else { return nil }
        self = .found(belvoID: customer.id.uuid, createdAt: createdAt)
    }
}

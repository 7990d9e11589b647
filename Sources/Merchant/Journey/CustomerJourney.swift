import Belvo
import Logging
import Payments

/// How a user becomes Belvo's customer: remembered, asked for once, recorded.
struct CustomerJourney: Sendable {
    let world: World

    /// Creates the user's customer, or returns the one there is; `isNew` when it was made by this wish.
    func put(
        _ person: Customer.Person, for subject: UserSubject, on occasion: Occasion
    ) async throws -> (progress: Progress<Stored<Customer>>, isNew: Bool) {
        let planned = Planned.entered(schedule)
        let customer = Customer(
            id: Customer.ID(world.identities.next()), subject: subject, person: person, createdAt: .earliest)
        if let made = try await world.store.insert(customer, planned: planned, cause: occasion.cause) {
            return (try await ask(for: made, on: occasion), true)
        }
        guard let known = try await world.store.customer(of: subject) else { throw JourneyRefusal.contended }
        switch known.record.state {
        case .created:
            guard known.record.person.taxID == person.taxID else { throw JourneyRefusal.identifierDiffers }
            return (.done(known), false)
        case .creating:
            guard known.record.person.taxID == person.taxID else { throw JourneyRefusal.identifierDiffers }
            return (.pending(known), false)
        case .failed:
            var again = try known.record.transition(on: .triedAgain)
            again.person = person
            guard
                let claimed = try await write(
                    again, over: known, event: "tried_again", planned: planned, cause: occasion.cause)
            else { throw JourneyRefusal.inProgress }
            return (try await ask(for: claimed, on: occasion), true)
        }
    }

    func customer(of subject: UserSubject) async throws -> Stored<Customer> {
        guard let customer = try await world.store.customer(of: subject) else { throw JourneyRefusal.notFound }
        return customer
    }

    /// Writes the next state and tells those who wait; nothing comes back when somebody else was faster.
    private func write(
        _ next: Customer, over stored: Stored<Customer>, event: String, planned: Planned, cause: Cause
    ) async throws -> Stored<Customer>? {
        let written = try await world.store.update(stored, to: next, event: event, planned: planned, cause: cause)
        if let written, written.record != stored.record { world.changes.announce(written.record.id) }
        return written
    }

    private func ask(for stored: Stored<Customer>, on occasion: Occasion) async throws -> Progress<Stored<Customer>> {
        let person = stored.record.person
        do {
            let created = try await world.belvo.createCustomer(
                NewCustomer(
                    externalID: stored.record.id.description, identifier: person.taxID.text, name: person.name.text,
                    email: person.email?.text, phone: person.phone?.text),
                trace: occasion.trace)
            guard let event = Customer.Event(created) else {
                // Belvo has it and did not say since when: reading tells.
                return try await lookUp(stored, on: occasion)
            }
            return .done(try await record(event, on: stored, cause: occasion.cause))
        } catch let error as BelvoError {
            if error.saysIdentifierIsTaken { return try await settleTaken(stored, on: occasion) }
            if error.refusal != nil || error.leftNothing {
                let code = error.refusal.map(Failure.refused)?.code ?? Failure.notSent.code
                try await record(.notCreated(code: code), on: stored, cause: occasion.cause)
                throw error
            }
            world.log.warning("customer.outcome_unknown", metadata: ["customer_id": "\(stored.record.id)"])
            return try await lookUp(stored, on: occasion)
        }
    }

    /// Belvo has a customer with this tax number: ours, if it shows one under our name, or somebody else's.
    private func settleTaken(
        _ stored: Stored<Customer>, on occasion: Occasion
    ) async throws -> Progress<Stored<Customer>> {
        switch await news(of: stored.record, from: world.belvo.within(world.patience.lookUpDeadline)) {
        case .event(let found): return .done(try await record(found, on: stored, cause: occasion.cause))
        case .absent:
            try await record(.notCreated(code: Customer.identifierInUse), on: stored, cause: occasion.cause)
            world.log.warning("customer.identifier_in_use", metadata: ["customer_id": "\(stored.record.id)"])
            throw JourneyRefusal.identifierInUse
        case .unreadable: return try await lookUp(stored, on: occasion)
        }
    }

    /// Looks once, and not for long, for a customer whose creation has just been sent, and was not answered as it
    /// should. From then on it is looked for as often as anything that waits for Belvo.
    private func lookUp(
        _ stored: Stored<Customer>, on occasion: Occasion
    ) async throws -> Progress<Stored<Customer>> {
        if case .event(let found) = await news(
            of: stored.record, from: world.belvo.within(world.patience.lookUpDeadline))
        {
            return .done(try await record(found, on: stored, cause: occasion.cause))
        }
        let waiting = try await world.store.update(
            stored, to: stored.record, event: "creation_unknown",
            planned: .goesOn(nextLook: world.patience.pollInterval, deadline: stored.deadline), cause: occasion.cause)
        return .pending(waiting ?? stored)
    }

    @discardableResult
    private func record(
        _ event: Customer.Event, on stored: Stored<Customer>, cause: Cause
    ) async throws -> Stored<Customer> {
        var current = stored
        for _ in 0..<attemptsMax {
            if current.record.state == .created { return current }
            let next = try current.record.transition(on: event)
            let written = try await write(
                next, over: current, event: event.name, planned: .entered(nil), cause: cause)
            if let written { return written }
            guard let fresh = try await world.store.customer(of: stored.record.subject) else { break }
            current = fresh
        }
        throw JourneyRefusal.contended
    }

    private var schedule: Schedule {
        Schedule(
            firstLook: world.patience.askingDeadline + .seconds(5),
            deadline: world.patience.callDeadline + world.patience.creationGrace)
    }
}

// Looking, for handlers and pollers alike.
extension CustomerJourney: LookingJourney {
    /// Looks for a customer whose creation was sent and never answered.
    func news(of customer: Customer, from belvo: Belvo.Client) async -> News<Customer.Event> {
        guard customer.state == .creating else { return .unreadable }
        do {
            let found = try await belvo.findCustomers(externalID: customer.id.description)
            guard let first = found.first else { return .absent }
            guard let event = Customer.Event(first) else {
                world.log.error("customer.without_creation_time", metadata: ["customer_id": "\(customer.id)"])
                return .unreadable
            }
            return .event(event)
        } catch {
            world.log.warning(
                "customer.unreadable", metadata: ["customer_id": "\(customer.id)", "reason": "\(error)"])
            return .unreadable
        }
    }

    func lapse(of customer: Customer, after news: News<Customer.Event>) -> Customer.Event? {
        if case .absent = news { .notCreated(code: Failure.creationLost.code) } else { nil }
    }

    func write(
        _ next: Customer, over stored: Stored<Customer>, after event: Customer.Event, causedBy cause: Cause
    ) async throws -> Stored<Customer>? {
        try await write(next, over: stored, event: event.name, planned: .entered(nil), cause: cause)
    }

    func nextLook(at stored: Stored<Customer>) -> Duration? {
        guard stored.record.state == .creating else { return nil }
        let overdue = stored.isOverdue ? stored.deadline.map { stored.clock.now - $0 } : nil
        return overdue.map(world.patience.doubtInterval) ?? world.patience.pollInterval
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
    /// What Belvo's answer says, if it says since when the customer exists: the account tenure needs it.
    init?(_ customer: Belvo.Customer) {
        // A time that cannot be read is as good as none.
        guard let createdAt = customer.createdAt.flatMap({ try? Timestamp($0) }) else { return nil }
        self = .found(belvoID: customer.id.uuid, createdAt: createdAt)
    }
}

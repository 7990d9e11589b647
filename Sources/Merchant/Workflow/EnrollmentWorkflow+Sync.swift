import Belvo
import FoundationEssentials
import Logging
import Payments

// What is told of an enrollment from outside: by a webhook.
extension EnrollmentJourney {
    /// Reads an enrollment that somebody told of, and records what Belvo says; one that is new here is taken in. False
    /// when it is nobody's of ours.
    func hear(of id: Belvo.Enrollment.ID, on occasion: Occasion) async throws -> Bool {
        let told = try await world.belvo.readEnrollment(id, trace: occasion.trace)
        for _ in 0..<attemptsMax {
            guard let stored = try await stored(told) else {
                switch try await takeIn(told, on: occasion) {
                case .taken: return true
                case .notOurs: return false
                // Somebody else was faster: there is a row now.
                case .overtaken: continue
                }
            }
            let event = Enrollment.Event.reported(report(told))
            var now = stored
            // Many may tell of the same at once, and must not stand in each other's way to write nothing new.
            if try stored.record.transition(on: event) != stored.record {
                now = try await record(event, on: stored, cause: occasion.cause)
            }
            // What comes next, such as the registration options, is for the next look, which need not wait any longer.
            if now.record.status == .pending, now.record.state != .observed, !now.record.waitsForPerson {
                try await world.store.hasten(enrollment: now.record.id)
            }
            return true
        }
        throw JourneyRefusal.contended
    }

    /// Our row for what Belvo shows: known by Belvo's id, or by ours while the answer to its creation is on its way.
    private func stored(_ told: Belvo.Enrollment) async throws -> Stored<Enrollment>? {
        if let known = try await world.store.enrollment(belvoID: told.id.uuid) { return known }
        guard let own = told.externalID.flatMap({ Enrollment.ID($0) }),
            let stored = try await world.store.enrollment(own)
        else { return nil }
        // Anybody may name anything by our ids; of another customer it is another enrollment.
        if let payer = told.details.customer, let owner = try await world.store.owner(belvoID: payer.uuid),
            owner.customer != stored.record.customer
        {
            return nil
        }
        if let known = stored.record.belvoID, known != told.id.uuid {
            logTwin(told.id.uuid, of: stored.record)
            return nil
        }
        return stored
    }

    /// Remembers an enrollment that somebody else made, if its customer is one of ours.
    private func takeIn(_ told: Belvo.Enrollment, on occasion: Occasion) async throws -> TakingIn {
        guard let payer = told.details.customer, let owner = try await world.store.owner(belvoID: payer.uuid) else {
            return .notOurs
        }
        // Under whatever name Belvo shows it, it may be the one that is being made here: its answer tells.
        if try await world.store.hasEnrollmentInFlight(of: owner.subject) {
            throw NotTakenInYet.mayBeOwn
        }
        guard let institution = told.details.institution else { throw NotTakenInYet.incomplete("institution") }
        let seen = Enrollment(
            id: Enrollment.ID(world.identities.next()), origin: .observed, subject: owner.subject,
            customer: owner.customer, institution: try await shown(institution),
            platform: told.details.platform.flatMap { Enrollment.Platform(rawValue: $0.uppercased()) },
            // A name or a callback address that cannot be shown is left out: nothing depends on them.
            name: told.details.name.flatMap { try? EnrollmentName($0) }, callbackURL: told.details.callbackURL,
            metadata: told.metadata.flatMap { try? Metadata(json: $0.bytes) },
            createdAt: owner.moment(told.createdAt))
        let enrollment = try seen.transition(on: .reported(report(told)))
        let taken = try await world.store.takeIn(
            enrollment, planned: .entered(enrollment.schedule(world.patience)), cause: occasion.cause,
            telling: world.event(enrollment, before: seen, at: owner.clock.now))
        guard let taken else { return .overtaken }
        world.log.notice(
            "enrollment.taken_in",
            metadata: [
                "enrollment_id": "\(taken.record.id)", "belvo_id": "\(told.id)",
                "state": "\(taken.record.state.rawValue)",
            ])
        return .taken
    }

    /// The bank as users know it; one that Belvo does not list any more goes by its id.
    private func shown(_ id: Belvo.Institution.ID) async throws -> Enrollment.Institution {
        let bank = try await world.belvo.listInstitutions().institutions.first { $0.id == id }
        return Enrollment.Institution(
            id: id.uuid, displayName: bank?.displayName ?? id.description, iconLogo: bank?.iconLogo)
    }
}

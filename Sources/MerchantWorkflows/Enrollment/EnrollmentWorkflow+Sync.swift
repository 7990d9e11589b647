import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// What comes from outside about an enrollment: a webhook.
extension EnrollmentWorkflow {
    /// Reads an enrollment that a webhook or a list names, and records Belvo's status, which is returned; one that is
    /// new here is imported. Nil when it belongs to no customer of ours.
    func syncFromBelvo(_ id: Belvo.Enrollment.ID, on context: CallContext) async throws -> ProviderStatus? {
        let remote = try await dependencies.belvo.readEnrollment(id, trace: context.trace)
        for _ in 0..<attemptsMax {
            guard let stored = try await stored(remote) else {
                switch try await importForeign(remote, on: context) {
                case .imported: return ProviderStatus(remote.status)
                case .notOurs: return nil
                // Another writer was faster: there is a row now.
                case .overtaken: continue
                }
            }
            let event = Enrollment.Event.reported(report(remote, of: stored.record))
            var now = stored
            // Many webhooks may name the same object at once, and must not block each other to write nothing new.
            if try stored.record.transition(on: event) != stored.record {
                now = try await recordEvent(event, on: stored, cause: context.cause)
            }
            // What comes next, such as the registration options, is for the next poll, which need not wait any longer.
            if now.record.status == .pending, now.record.state != .foreign, !now.record.waitsForPerson {
                try await dependencies.store.hasten(enrollment: now.record.id)
            }
            return ProviderStatus(remote.status)
        }
        throw WorkflowRefusal.contended
    }

    /// Our row for what Belvo shows: known by Belvo's id, or by ours while the answer to its creation is on its way.
    private func stored(_ remote: Belvo.Enrollment) async throws -> Stored<Enrollment>? {
        if let known = try await dependencies.store.enrollment(belvoID: remote.id.uuid) { return known }
        guard let own = remote.externalID.flatMap({ Enrollment.ID($0) }),
            let stored = try await dependencies.store.enrollment(own)
        else { return nil }
        // Any client may use our ids as names; of another customer it is another enrollment.
        if let payer = remote.details.customer, let owner = try await dependencies.store.owner(belvoID: payer.uuid),
            owner.customer != stored.record.customer
        {
            return nil
        }
        if let known = stored.record.belvoID, known != remote.id.uuid {
            logTwin(remote.id.uuid, of: stored.record)
            return nil
        }
        return stored
    }

    /// Imports a foreign enrollment, if its customer is one of ours.
    private func importForeign(_ remote: Belvo.Enrollment, on context: CallContext) async throws -> ForeignRecordImport
    {
        guard let payer = remote.details.customer, let owner = try await dependencies.store.owner(belvoID: payer.uuid),
            !owner.isErased
        else {
            return .notOurs
        }
        // Under whatever name Belvo shows it, it may be the one that is being made here: its answer shows it.
        if try await dependencies.store.hasEnrollmentInFlight(of: owner.subject) {
            throw SyncDeferred.mayBeOwn
        }
        guard let institution = remote.details.institution else { throw SyncDeferred.incomplete("institution") }
        let seen = Enrollment(
            id: Enrollment.ID(dependencies.identities.next()), origin: .foreign, subject: owner.subject,
            customer: owner.customer, institution: try await shown(institution),
            platform: remote.details.platform.flatMap { Enrollment.Platform(rawValue: $0.uppercased()) },
            // A name or a callback address that cannot be shown is left out: nothing depends on them.
            name: remote.details.name.flatMap { try? EnrollmentName($0) }, callbackURL: remote.details.callbackURL,
            metadata: remote.metadata.flatMap { try? Metadata(json: $0.bytes) },
            createdAt: owner.moment(remote.createdAt))
        let enrollment = try seen.transition(on: .reported(report(remote, of: seen)))
        let imported = try await dependencies.store.importForeign(
            enrollment, plan: .entered(enrollment.schedule(dependencies.timeouts)), cause: context.cause,
            emitting: dependencies.event(enrollment, before: seen, at: owner.clock.now))
        guard let imported else { return .overtaken }
        dependencies.funnelCounts.count(imported.record)
        dependencies.log.notice(
            "enrollment.taken_in",
            metadata: [
                "enrollment_id": "\(imported.record.id)", "belvo_id": "\(remote.id)",
                "state": "\(imported.record.state.rawValue)",
            ])
        return .imported
    }

    /// The bank as users know it; one that Belvo does not list any more goes by its id.
    private func shown(_ id: Belvo.Institution.ID) async throws -> Enrollment.Institution {
        let bank = try await dependencies.belvo.listInstitutions().institutions.first { $0.id == id }
        return Enrollment.Institution(
            id: id.uuid, displayName: bank?.displayName ?? id.description, iconLogo: bank?.iconLogo)
    }
}

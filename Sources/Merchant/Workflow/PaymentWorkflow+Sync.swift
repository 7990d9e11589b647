import Belvo
import FoundationEssentials
import Logging
import Payments

// What is told of an intent from outside: by a webhook.
extension PaymentJourney {
    /// Reads an intent that somebody told of, and records what Belvo says; one that is new here is taken in. False when
    /// it is nobody's of ours.
    func hear(of id: Belvo.PaymentIntent.ID, on occasion: Occasion) async throws -> Bool {
        let told = try await world.belvo.readPaymentIntent(id, trace: occasion.trace)
        for _ in 0..<attemptsMax {
            guard let stored = try await stored(told) else {
                switch try await takeIn(told, on: occasion) {
                case .taken: return true
                case .notOurs: return false
                // Somebody else was faster: there is a row now.
                case .overtaken: continue
                }
            }
            let event = Payment.Event.reported(try await checked(report(told), against: stored.record))
            // Many may tell of the same at once, and must not stand in each other's way to write nothing new.
            if let next = try? stored.record.transition(on: event), next == stored.record { return true }
            try await record(event, on: stored, cause: occasion.cause)
            return true
        }
        throw JourneyRefusal.contended
    }

    /// Our row for what Belvo shows: known by Belvo's id, or by ours while the answer to its creation is on its way.
    private func stored(_ told: Belvo.PaymentIntent) async throws -> Stored<Payment>? {
        if let known = try await world.store.payment(belvoID: told.id.uuid) { return known }
        guard let own = told.externalID.flatMap({ Payment.ID($0) }), let stored = try await world.store.payment(own)
        else { return nil }
        // Anybody may name anything by our ids; of another customer it is another payment.
        if let payer = told.customer, payer.uuid != stored.record.parties.customer { return nil }
        guard let known = stored.record.belvoID, known != told.id.uuid else { return stored }
        try await noteTwin(told.id.uuid, of: known, of: own)
        return nil
    }
}

// What somebody else made.
extension PaymentJourney {
    /// Remembers an intent that somebody else made, if its customer is one of ours.
    ///
    /// Its price is nobody's order: an app cannot pay an order by making an intent itself. It names a reference only
    /// where it is a payment of ours that Belvo has twice: whichever of the two is paid, the reference is.
    private func takeIn(_ told: Belvo.PaymentIntent, on occasion: Occasion) async throws -> TakingIn {
        guard let payer = told.customer, let owner = try await world.store.owner(belvoID: payer.uuid) else {
            return .notOurs
        }
        // Under whatever name Belvo shows it, it may be the one that is being made here: its answer tells.
        if try await world.store.hasPaymentInFlight(of: owner.subject) {
            throw NotTakenInYet.mayBeOwn
        }
        // A record without an amount in reais would say nothing of the money; Belvo may show it later.
        guard let centavos = told.amountCentavos, centavos > 0 else { throw NotTakenInYet.incomplete("amount") }
        guard told.currency == Money.currency else { throw NotTakenInYet.incomplete("currency") }
        let report = report(told)
        let seen = Payment(
            id: Payment.ID(world.identities.next()), origin: .observed, subject: owner.subject,
            enrollment: try await bond(of: told, of: owner, on: occasion),
            parties: Payment.Parties(
                customer: payer.uuid, enrollment: report.enrollment,
                beneficiaryBankAccount: report.beneficiaryBankAccount),
            amount: Money(centavos: centavos),
            // Texts that an app could not have sent through here are left out: nothing depends on them.
            description: told.purpose.flatMap { try? PaymentDescription($0) },
            statementDescription: told.statementDescription.flatMap { try? StatementDescription($0) },
            reference: try await twin(of: told)?.reference,
            metadata: told.metadata.flatMap { try? Metadata(json: $0.bytes) }, belvoIdempotencyKey: nil,
            createdAt: owner.moment(told.createdAt))
        let payment = try seen.transition(on: .reported(report))
        if let taken = try await write(payment, seen: seen, of: owner, on: occasion) {
            tell(taken, told)
            if taken.record.state == .succeeded { try await logAlarms(of: taken.record.id) }
            return .taken
        }
        // Overtaken; or two payments are to be one Pix, and this one is not believed.
        guard payment.facts.endToEndID != nil, try await world.store.payment(belvoID: told.id.uuid) == nil else {
            return .overtaken
        }
        let open = try seen.transition(on: .reported(report.undecided))
        guard let taken = try await write(open, seen: seen, of: owner, on: occasion) else { return .overtaken }
        world.log.critical("payment.end_to_end_id_repeated", metadata: ["payment_id": "\(taken.record.id)"])
        _ = try await world.store.raise(.endToEndIDRepeated, of: taken.record.id, "made without us")
        tell(taken, told)
        return .taken
    }

    /// The payment of ours that it equals in all but Belvo's id; anybody can give a cheaper one the same name.
    private func twin(of told: Belvo.PaymentIntent) async throws -> Payment? {
        guard let name = told.externalID.flatMap({ Payment.ID($0) }),
            let known = try await world.store.payment(name)?.record,
            Set(known.differences(from: report(told))).isSubset(of: ["id", "end_to_end_id"])
        else { return nil }
        return known
    }

    private func write(
        _ payment: Payment, seen: Payment, of owner: Owner, on occasion: Occasion
    ) async throws -> Stored<Payment>? {
        try await world.store.takeIn(
            payment, of: owner.customer,
            planned: .entered(payment.schedule(world.patience, signatureTime: nil)), cause: occasion.cause,
            telling: world.event(payment, before: seen, at: owner.clock.now))
    }

    /// The enrollment that pays, if the same user has it; taken in itself where it is new.
    private func bond(
        of told: Belvo.PaymentIntent, of owner: Owner, on occasion: Occasion
    ) async throws -> Enrollment.ID? {
        guard let id = told.enrollment else { return nil }
        var known = try await world.store.enrollment(belvoID: id.uuid)
        if known == nil {
            do {
                _ = try await EnrollmentJourney(world: world).hear(of: id, on: occasion)
            } catch BelvoError.notFound {
                return nil  // The payment is there all the same.
            }
            known = try await world.store.enrollment(belvoID: id.uuid)
        }
        return known?.record.subject == owner.subject ? known?.record.id : nil
    }

    /// Somebody should know of money that moves without an order.
    private func tell(_ taken: Stored<Payment>, _ told: Belvo.PaymentIntent) {
        world.log.warning(
            "payment.taken_in",
            metadata: [
                "payment_id": "\(taken.record.id)", "belvo_id": "\(told.id)", "state": "\(taken.record.state.rawValue)",
            ])
    }
}

extension Payment.Report {
    /// What is left of it where its end-to-end id is another payment's: nothing that rests on that.
    fileprivate var undecided: Payment.Report {
        var rest = self
        rest.facts.endToEndID = nil
        if status == .succeeded { rest.status = .unknown }
        return rest
    }
}

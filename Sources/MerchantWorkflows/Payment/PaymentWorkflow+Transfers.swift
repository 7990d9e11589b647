import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// A transfer that Belvo has shown for two payments.
extension PaymentWorkflow {
    /// Takes the transfer from the payment that has it here, so that the one that Belvo shows with it may have it;
    /// false where it stays.
    ///
    /// A payment that has failed and brought no money gives it up. Any other one is read, once Belvo calls this one
    /// paid by it: Belvo may have shown it for the wrong payment, and mended that. Where Belvo has mixed up several,
    /// the one that gives it up may have to get its own from another one first; `chain` names those that wait for that.
    func releaseTransfer(to claimant: Payment, for chain: [Payment.ID] = [], cause: Cause) async throws -> Bool {
        guard let transfer = claimant.facts.endToEndID, chain.count < Self.chainMax else { return false }
        let holder = try await dependencies.store.payments(knownBy: [], orByTransfers: [transfer]).first
        guard let holder, holder.record.id != claimant.id else { return true }
        let known = holder.record
        var reading = HolderReading(own: nil, isPaid: false)
        // One of the chain gets its own later, and is written anew then.
        if known.status != .failed, !chain.contains(known.id) {
            guard claimant.state == .succeeded, let seen = try await readHolder(known, of: transfer) else {
                return false
            }
            reading = seen
        }
        guard try await giveUp(holder, reading, claimant, chain, cause) else { return false }
        dependencies.log.warning(
            "payment.transfer_moved",
            metadata: ["payment_id": "\(known.id)", "to": "\(claimant.id)", "end_to_end_id": "\(transfer)"])
        return true
    }

    private static let chainMax = 8

    /// The content of a reading of the payment that has a transfer here which Belvo shows for another one, too.
    private struct HolderReading {
        /// The transfer with which it shows the payment now.
        let own: EndToEndID?
        /// Whether it shows it as SUCCEEDED.
        let isPaid: Bool

        var event: Payment.Event { .transferIsAnothers(own: own, isPaid: isPaid) }
    }

    /// A reading of the payment; nil where the transfer stays with it.
    private func readHolder(_ known: Payment, of transfer: EndToEndID) async throws -> HolderReading? {
        guard let belvoID = known.belvoID else { return nil }
        let seen: Payment.Report
        do {
            seen = report(try await dependencies.belvo.readPaymentIntent(Belvo.PaymentIntent.ID(belvoID)))
        } catch {
            return nil
        }
        guard known.differences(from: seen).allSatisfy({ $0 == "end_to_end_id" }),
            !seen.collected.contains(where: { $0.transfer == transfer })
        else { return nil }
        let reading = HolderReading(own: seen.facts.endToEndID, isPaid: seen.status == .succeeded)
        guard (try? known.transition(on: reading.event)) != nil else { return nil }
        // What the first payment was paid by twice is an alarm, whichever was meant.
        try await raiseIfPaidTwice(known, by: [reading.own])
        if reading.own != nil, known.state == .succeeded || known.collectedBy.contains(transfer.description) {
            try await raiseOnce(.doublePaid, of: known, "\(transfer), by which it was paid, is another payment's")
        }
        return reading
    }

    /// Writes the holder without the transfer, after its own was taken from who has that, if anyone; false where it
    /// stays as it is.
    private func giveUp(
        _ holder: Stored<Payment>, _ reading: HolderReading, _ claimant: Payment, _ chain: [Payment.ID], _ cause: Cause
    ) async throws -> Bool {
        guard let next = try? holder.record.transition(on: reading.event) else { return false }
        do {
            return try await writeTransfer(next, holder, after: reading.event, cause)
        } catch is EndToEndIDRepeated {
            if try await releaseTransfer(to: next, for: chain + [claimant.id], cause: cause) {
                return (try? await writeTransfer(next, holder, after: reading.event, cause)) ?? false
            }
            // What is under way has none until Belvo shows it again.
            guard reading.own != nil else { return false }
            return try await giveUp(holder, HolderReading(own: nil, isPaid: reading.isPaid), claimant, chain, cause)
        }
    }

    private func writeTransfer(
        _ next: Payment, _ holder: Stored<Payment>, after event: Payment.Event, _ cause: Cause
    ) async throws -> Bool {
        try await dependencies.store.update(
            holder, to: next, event: event.name, plan: plan(next, over: holder), cause: cause, at: holder.clock.now)
            != nil
    }
}

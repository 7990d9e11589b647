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
    /// paid by it: Belvo may have shown it for the wrong payment, and mended that.
    func releaseTransfer(to claimant: Payment, cause: Cause) async throws -> Bool {
        guard let transfer = claimant.facts.endToEndID else { return false }
        let holder = try await dependencies.store.payments(knownBy: [], orByTransfers: [transfer]).first
        guard let holder, holder.record.id != claimant.id else { return true }
        let known = holder.record
        var own: EndToEndID?
        if known.status != .failed {
            guard claimant.state == .succeeded, let belvoID = known.belvoID else { return false }
            let seen: Payment.Report
            do {
                seen = report(try await dependencies.belvo.readPaymentIntent(Belvo.PaymentIntent.ID(belvoID)))
            } catch {
                return false
            }
            guard known.differences(from: seen).allSatisfy({ $0 == "end_to_end_id" }),
                !seen.collected.contains(where: { $0.transfer == transfer })
            else { return false }
            // What the first payment was paid by twice is an alarm, whichever was meant.
            try await raiseIfPaidTwice(known, by: [seen.facts.endToEndID])
            own = seen.facts.endToEndID
        }
        guard let next = try? known.transition(on: .transferIsAnothers(own: own)) else { return false }
        do {
            guard try await giveUpTransfer(next, holder, cause) else { return false }
        } catch is EndToEndIDRepeated {
            return false
        }
        dependencies.log.warning(
            "payment.transfer_moved",
            metadata: ["payment_id": "\(known.id)", "to": "\(claimant.id)", "end_to_end_id": "\(transfer)"])
        return true
    }

    private func giveUpTransfer(_ next: Payment, _ holder: Stored<Payment>, _ cause: Cause) async throws -> Bool {
        let event = Payment.Event.transferIsAnothers(own: next.facts.endToEndID)
        return try await dependencies.store.update(
            holder, to: next, event: event.name, plan: plan(next, over: holder), cause: cause, at: holder.clock.now)
            != nil
    }
}

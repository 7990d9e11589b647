import Belvo
import FoundationEssentials
import MerchantModel
import MerchantStore
import Payments

/// Where a bank's redirect stands that came through a browser, and the enrollment that it is for.
package struct CallbackResult: Sendable {
    package let receipt: RedirectReceipt
    /// Nothing as long as it is not known whose it is.
    package let enrollment: Enrollment?
    /// Whether the redirect had been dealt with before it came this time.
    package let isRepeat: Bool
    /// Whether the redirect has shown that its bearer was at the bank for this enrollment: Belvo took its
    /// code, or that is unknown, and the enrollment continued by it alone. Before that a `state` may have been found
    /// somewhere, and a code invented.
    package let isProven: Bool
    /// Why passing it on just now failed.
    package let failure: (any Error)?
}

extension RedirectionWorkflow {
    /// Takes a redirect from a browser, and says where it then stands.
    ///
    /// Throws only what kept it from being stored, or from being read again: then the same redirect may be sent again.
    /// What went wrong with Belvo is part of the result.
    package func receiveCallback(_ arrival: Arrival, on context: CallContext) async throws -> CallbackResult {
        let (receipt, isNew) = try await remember(arrival)
        let isRepeat = !isNew && receipt.record.outcome.isSettled
        var failure: (any Error)?
        do {
            _ = try await deal(with: arrival, receipt, isNew: isNew, on: context)
        } catch  where StoreFailure(error) == nil {
            failure = error
        }
        guard let stored = try await dependencies.store.receipt(receipt.record.id) else {
            throw WorkflowRefusal.redirectUnknown
        }
        return try await callbackResult(stored, isRepeat: isRepeat, failure: failure)
    }

    /// The state of a redirect that was stored before. Belvo is not asked.
    ///
    /// Nothing comes back when there is none, or when it is older than a user may take: a client that holds an address
    /// for so long learns no more by it.
    package func callbackResult(_ receipt: UUID) async throws -> CallbackResult? {
        guard let stored = try await dependencies.store.receipt(receipt),
            age(of: stored) < dependencies.timeouts.userDeadline
        else { return nil }
        return try await callbackResult(stored, isRepeat: false, failure: nil)
    }

    private func callbackResult(
        _ receipt: Stored<RedirectReceipt>, isRepeat: Bool, failure: (any Error)?
    ) async throws -> CallbackResult {
        let enrollment = try await owner(of: receipt)?.record
        return CallbackResult(
            receipt: receipt.record, enrollment: enrollment, isRepeat: isRepeat,
            isProven: try await isProven(receipt.record, enrollment), failure: failure)
    }

    private func isProven(_ receipt: RedirectReceipt, _ enrollment: Enrollment?) async throws -> Bool {
        switch (receipt.outcome, enrollment?.state) {
        case (.taken, _): return true
        case (.unknown, .awaitingFingerprint), (.unknown, .confirming), (.unknown, .succeeded):
            guard let enrollment else { return false }
            return try await !dependencies.store.hasReceiptPassedOn(of: enrollment.id, besides: receipt.id)
        default: return false
        }
    }
}

extension RedirectReceipt.Outcome {
    /// Whether nothing more is done with the redirect itself.
    var isSettled: Bool {
        switch self {
        case .received, .sent: false
        case .taken, .refused, .unknown, .expired: true
        }
    }
}

import Foundation

/// Takes what a user asked for to its end, by doing what the server's `next_action` says and nothing else.
///
/// An enrollment and a payment go the same way. The app may be killed at any point: what was asked for stays in the
/// notebook, and `run` goes on from there.
///
/// ```swift
/// let runner = RequestRunner(api: api, device: device, notebook: notebook)
/// for pending in try notebook.pendingRequests() { ... try await runner.run(pending) ... }      // when the app starts
/// let ending = try await runner.run(.payment(from: enrollment, amount: "19.90",  // when the user taps
///                                             description: "Two coffees", reference: "order-1"))
/// ```
public struct RequestRunner: Sendable {
    private let api: MerchantAPI
    private let device: any Device
    private let notebook: Notebook

    public init(api: MerchantAPI, device: any Device, notebook: Notebook) {
        self.api = api
        self.device = device
        self.notebook = notebook
    }

    /// How a pending request ended. The record is as the server showed it last.
    public enum Ending: Sendable {
        case done(Record)
        /// Nothing was bound or paid, and the user has been told what to do about it.
        case failed(Record, RetryReason)
    }

    /// Runs until the pending request has ended.
    ///
    /// Throws what the device throws (the user closed a prompt), a `Problem` when the server refuses or stays away, a
    /// `URLError` when the network does, and `CancellationError`. What is still in the notebook then has not ended:
    /// run it again.
    public func run(_ pending: PendingRequest) async throws -> Ending {
        var pending = pending
        var record = try await pickUp(&pending)
        var openedPage: URL?
        while true {
            switch record.nextAction {
            case nil:
                notebook.forget(pending)
                return .done(record)
            case .retry(let reason):
                await device.tell(reason)
                notebook.forget(pending)
                return .failed(record, reason)
            case .redirect(let page) where page != openedPage:
                openedPage = page
                if let address = try await device.openBank(page) {
                    record = try await say(.redirection(address), in: &pending, about: record)
                }
            case .redirect, .poll:
                record = try await api.record(at: pending.path, after: record)
            case .register(let options):
                let confirmation = try await device.register(options)
                record = try await say(.confirmation(confirmation, of: record), in: &pending, about: record)
            case .sign(let options):
                let assertion = try await device.sign(options)
                // Collected for each payment, and after the signature (Belvo's guide, authorize payment).
                let signals = try await device.riskSignals()
                record = try await say(.authorization(assertion, signals, of: record), in: &pending, about: record)
            }
        }
    }

    /// Where the pending request stands: what was said and not answered is said again, word for word.
    private func pickUp(_ pending: inout PendingRequest) async throws -> Record {
        guard !pending.isStale else {
            notebook.forget(pending)
            throw PendingRequest.Stale()
        }
        if let message = pending.unanswered { return try await say(message, in: &pending, about: nil) }
        do {
            return try await api.record(at: pending.path)
        } catch let problem as Problem where problem.status == 404 {
            notebook.forget(pending)  // Another user has signed in: it was not his.
            throw problem
        }
    }

    /// Says something to the server: written down before it is sent, crossed out when it is answered.
    ///
    /// Whatever is lost on the way, the same words are said again, and the server does what they ask once: the
    /// Idempotency-Key tells it so for what is new, the content itself for all else.
    private func say(_ message: Message, in pending: inout PendingRequest, about known: Record?) async throws -> Record
    {
        pending.unanswered = message
        try notebook.keep(pending)
        do {
            let record = try await api.send(message)
            pending.answered(record?.id)
            try notebook.keep(pending)
            if let record { return record }
        } catch let problem as Problem where problem.isFinal {
            // After a second tap the payment of the first is in the way: that one is gone on with.
            pending.answered(problem.paymentIntent)
            guard pending.record != nil else {
                notebook.forget(pending)
                throw problem
            }
            try notebook.keep(pending)
            guard problem.status == 409 || problem.status == 422 else { throw problem }
            // Nobody is asked for a finger twice for the same thing: the record has to move on first.
            if let known { return try await api.record(at: pending.path, changedFrom: known) }
        }
        return try await api.record(at: pending.path)
    }
}

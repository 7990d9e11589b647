/// How payments change. Each answers whether it could, since some states are the last.
extension SandboxState {
    /// The signature is right; from here the bank moves the money, sooner or later.
    mutating func beginSettlement(_ id: String) {
        let moment = now
        intents.change(id) { $0.isAuthorized = true }
        if variants.intentStates == .documented { turnIntent(id, to: .processing) }
        switch variants.paymentSettlement {
        case .immediately: succeedIntent(id)
        case .after(let span): agenda.add(.settleIntent(id), at: moment + span)
        case .whenTold: break
        }
    }

    @discardableResult
    mutating func succeedIntent(_ id: String) -> Bool {
        guard end(id, as: .succeeded, charge: .succeeded, failure: nil), let intent = intents[id] else { return false }
        let transaction = Transaction(id: entropy.uuid(), paymentIntent: id, createdAt: now)
        transactions.add(transaction)
        charges.change(intent.charge) { $0.transactions.append(transaction.id) }
        announce(transaction)
        return true
    }

    @discardableResult
    mutating func failIntent(_ id: String, _ failure: Failure) -> Bool {
        end(id, as: .failed, charge: .failed, failure: failure)
    }

    mutating func cancelIntent(_ id: String) -> Bool {
        end(id, as: .canceled, charge: .canceled, failure: nil)
    }

    /// A step on the way that is not the end.
    @discardableResult
    mutating func turnIntent(_ id: String, to status: PaymentIntent.Status) -> Bool {
        guard let intent = intents[id], !intent.status.isTerminal, !status.isTerminal else { return false }
        let moment = now
        intents.change(id) {
            $0.status = status
            $0.updatedAt = moment
        }
        charges.change(intent.charge) {
            $0.status = status == .scheduled ? .scheduled : status == .processing ? .processing : .pending
            $0.updatedAt = moment
        }
        if let intent = intents[id] { announce(intent) }
        return true
    }

    private mutating func end(
        _ id: String, as status: PaymentIntent.Status, charge: Charge.Status, failure: Failure?
    ) -> Bool {
        guard let intent = intents[id], !intent.status.isTerminal else { return false }
        let moment = now
        intents.change(id) {
            $0.status = status
            $0.failure = failure
            $0.updatedAt = moment
        }
        charges.change(intent.charge) {
            $0.status = charge
            $0.failure = failure
            $0.updatedAt = moment
        }
        if let intent = intents[id] { announce(intent) }
        if let charge = charges[intent.charge] { announce(charge) }
        return true
    }
}

import HTTP

// What became of the money behind an intent (belvo-api.md §0, §6.1).
extension Client {
    /// Reads one charge, by Belvo's id.
    public func readCharge(_ id: Charge.ID, trace: TraceParent? = nil) async throws(BelvoError) -> Charge {
        try await object(.readCharge, get(Path.charge(id), trace)) { (answer) throws(Nonsense) in
            try asked(Charge(answer), for: id, \.id)
        }
    }

    /// Reads one transaction, by Belvo's id.
    public func readTransaction(
        _ id: Transaction.ID, trace: TraceParent? = nil
    ) async throws(BelvoError) -> Transaction {
        try await object(.readTransaction, get(Path.transaction(id), trace)) { (answer) throws(Nonsense) in
            try asked(Transaction(answer), for: id, \.id)
        }
    }
}

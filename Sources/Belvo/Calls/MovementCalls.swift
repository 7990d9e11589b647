import HTTP

// What became of the money behind an intent (belvo-api.md §0, §6.1).
extension Client {
    /// Reads one charge, by Belvo's id.
    public func readCharge(_ id: Charge.ID, trace: TraceParent? = nil) async throws(BelvoError) -> Charge {
        try await object(.readCharge, get(Path.charge(id), trace)) { (answer) throws(MalformedAnswer) in
            try asked(Charge(answer), for: id, \.id)
        }
    }

    /// Lists the charges that were created between two moments, spelled as Belvo spells them.
    ///
    /// The names of the filters are inferred (belvo-api.md §6.1); if Belvo does not heed them the list is longer, and
    /// the caller checks the dates.
    public func listCharges(
        createdFrom begin: String, to end: String, trace: TraceParent? = nil
    ) async throws(BelvoError) -> DayList<Charge> {
        let request = get(Path.charges, query: day(begin, end), trace)
        return try await dayList(.listCharges, request) { (item) throws(MalformedAnswer) in
            try Charge(Answer(item))
        }
    }

    /// Lists the charges of an intent, of whichever day.
    public func listCharges(
        of intent: PaymentIntent.ID, trace: TraceParent? = nil
    ) async throws(BelvoError) -> DayList<Charge> {
        let request = get(Path.charges(of: intent), query: ["page_size": "\(configuration.dayPageSize)"], trace)
        return try await dayList(.listCharges, request) { (item) throws(MalformedAnswer) in
            try Charge(Answer(item))
        }
    }

    /// Lists the payment intents that were created between two moments; see `listCharges`.
    public func listPaymentIntents(
        createdFrom begin: String, to end: String, trace: TraceParent? = nil
    ) async throws(BelvoError) -> DayList<PaymentIntent> {
        let request = get(Path.paymentIntents, query: day(begin, end), trace)
        return try await dayList(.findPaymentIntents, request) { (item) throws(MalformedAnswer) in
            try PaymentIntent(Answer(item))
        }
    }

    /// Shows payment intents that were created between two moments, as far as Belvo lists them within so many pages
    /// and the time of one call.
    ///
    /// It is evidence of what it shows, and of nothing else: lists may lag, end early, or heed no filter.
    public func glimpsePaymentIntents(
        createdFrom begin: String, to end: String, pagesMax: Int, trace: TraceParent? = nil
    ) async throws(BelvoError) -> [PaymentIntent] {
        let query: KeyValuePairs = [
            "created_at__gte": begin, "created_at__lte": end, "page_size": "\(configuration.glimpsePageSize)",
        ]
        let request = get(Path.paymentIntents, query: query, trace)
        return try await glimpse(.findPaymentIntents, request, pagesMax: pagesMax) { (item) throws(MalformedAnswer) in
            try PaymentIntent(Answer(item))
        }
    }

    private func day(_ begin: String, _ end: String) -> KeyValuePairs<String, String> {
        ["created_at__gte": begin, "created_at__lte": end, "page_size": "\(configuration.dayPageSize)"]
    }

    /// Reads one transaction, by Belvo's id.
    public func readTransaction(
        _ id: Transaction.ID, trace: TraceParent? = nil
    ) async throws(BelvoError) -> Transaction {
        try await object(.readTransaction, get(Path.transaction(id), trace)) { (answer) throws(MalformedAnswer) in
            try asked(Transaction(answer), for: id, \.id)
        }
    }
}

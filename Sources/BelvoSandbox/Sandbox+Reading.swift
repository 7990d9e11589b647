/// Readings of the sandbox for tests in the same process.
extension Sandbox {
    /// The calls that came in, oldest first.
    public var calls: [CallRecord] { withState { $0.calls.calls } }

    /// Intents that were created under an `external_id`, and those of them that succeeded.
    public func countIntents(externalID: String) -> (created: Int, succeeded: Int) {
        withState { state in
            let found = state.intents(externalID: externalID)
            return (found.count, found.filter { $0.status == .succeeded }.count)
        }
    }

    /// The ids of the intents that were created under an `external_id`, oldest first.
    public func intentIDs(externalID: String) -> [String] {
        withState { state in state.intents(externalID: externalID).map(\.id) }
    }

    /// The ids of the enrollments that were created under an `external_id`, oldest first.
    public func enrollmentIDs(externalID: String) -> [String] {
        withState { state in state.enrollments.all.filter { $0.externalID == externalID }.map(\.id) }
    }

    /// The ids of the customers that were created under an `external_id`, oldest first.
    public func customerIDs(externalID: String) -> [String] {
        withState { state in state.customers.all.filter { $0.externalID == externalID }.map(\.id) }
    }

    /// The id of the newest charge (`CHARGES`) or transaction (`TRANSACTIONS`) of an intent; nil without one.
    public func movement(_ type: String, of intent: String) -> String? {
        withState { state in
            type == "CHARGES"
                ? state.charges.all.last { $0.paymentIntent == intent }?.id
                : state.transactions.all.last { $0.paymentIntent == intent }?.id
        }
    }

    /// The status of an intent or an enrollment; nil for an unknown id.
    public func status(of id: String) -> String? {
        withState { $0.intents[id]?.status.rawValue ?? $0.enrollments[id]?.status.rawValue }
    }

    /// Every call from now on, each as soon as its answer is ready: for tests that await what was sent.
    public func arrivals() -> AsyncStream<CallRecord> { listeners.stream() }
}

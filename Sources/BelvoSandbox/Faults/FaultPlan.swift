/// The faults that are switched on, first come, first served.
struct FaultPlan: Sendable {
    private(set) var entries: [Entry] = []

    struct Entry: Sendable {
        let fault: Fault
        /// Nil for every endpoint.
        let endpoint: Endpoint?
        /// Calls that it still hits; nil for all to come.
        var remaining: Int?
        /// Calls that it lets pass first.
        var skip: Int
    }

    mutating func add(_ entry: Entry) {
        entries.append(entry)
    }

    mutating func clear() {
        entries = []
    }

    /// Takes the fault for a call: the oldest one that fits and is not used up.
    mutating func take(for endpoint: Endpoint) -> Fault? {
        guard let place = entries.firstIndex(where: { $0.endpoint == nil || $0.endpoint == endpoint }) else {
            return nil
        }
        if entries[place].skip > 0 {
            entries[place].skip -= 1
            return nil
        }
        let fault = entries[place].fault
        if let remaining = entries[place].remaining {
            entries[place].remaining = remaining - 1
            if remaining <= 1 { entries.remove(at: place) }
        }
        return fault
    }
}

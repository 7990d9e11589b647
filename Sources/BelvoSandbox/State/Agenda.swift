/// Changes that happen by themselves, and their times.
struct Agenda: Sendable {
    enum Item: Sendable {
        case expireEnrollment(String)
        case expireIntent(String)
        case settleEnrollment(String)
        case settleIntent(String)
    }

    private var entries: [(moment: Timestamp, item: Item)] = []

    mutating func add(_ item: Item, at moment: Timestamp) {
        // The place behind all that are due earlier or at the same moment, by halves.
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].moment <= moment { low = middle + 1 } else { high = middle }
        }
        entries.insert((moment, item), at: low)
    }

    /// When the next item is due.
    var next: Timestamp? { entries.first?.moment }

    /// Takes the first item that is due, oldest first.
    mutating func takeDue(_ now: Timestamp) -> Item? {
        guard let first = entries.first, first.moment <= now else { return nil }
        entries.removeFirst()
        return first.item
    }
}

extension SandboxState {
    /// Does what became due since the last look, so that every answer is of the present.
    mutating func catchUp() {
        while let item = agenda.takeDue(now) {
            switch item {
            case .expireEnrollment(let id): expireEnrollment(id)
            case .expireIntent(let id): expireIntent(id)
            case .settleEnrollment(let id): succeedEnrollment(id)
            case .settleIntent(let id): succeedIntent(id)
            }
        }
    }

    /// An enrollment whose confirmation waits for the bank is not expired: the bank has its own time.
    private mutating func expireEnrollment(_ id: String) {
        guard let enrollment = enrollments[id], enrollment.credential == nil else { return }
        failEnrollment(id, .expired)
    }

    private mutating func expireIntent(_ id: String) {
        guard let intent = intents[id], !intent.isAuthorized else { return }
        failIntent(id, .consentExpired)
    }
}

import Belvo
import Logging
import Payments
import Transport

/// The banks that can be enrolled with, kept for a while: apps ask far more often than the list changes.
///
/// One refresh is under way at a time, however many ask. While Belvo is out of reach the last list goes on.
actor InstitutionCatalog {
    /// How long a list counts as fresh.
    static let lifetime = Duration.seconds(600)
    /// How long a failed refresh is not repeated while there is an older list to show.
    static let pause = Duration.seconds(5)

    private let belvo: Belvo.Client
    private let log: Logger
    private var list: [Belvo.Institution]?
    private var freshUntil = Monotonic(nanoseconds: .min)
    private var refresh: Task<[Belvo.Institution], any Error>?

    init(belvo: Belvo.Client, log: Logger) {
        self.belvo = belvo
        self.log = log
    }

    /// The institutions that offer Biometric Pix now, in the order in which they should be shown.
    func offered() async throws -> [Belvo.Institution] {
        if let list, Monotonic.now() < freshUntil { return list }
        do {
            return try await refreshed()
        } catch {
            guard let list else { throw error }
            freshUntil = Monotonic.now() + Self.pause
            log.warning("institutions.stale", metadata: ["reason": "\(error)"])
            return list
        }
    }

    private func refreshed() async throws -> [Belvo.Institution] {
        if let refresh { return try await refresh.value }
        // On the loop of whoever asks first: the client's connections belong to loops.
        let loop = EventLoop.current
        let task = Task(executorPreference: loop) { [belvo] in
            try await belvo.listInstitutions().institutions.filter(\.offersBiometricPix).sorted(by: Self.order)
        }
        refresh = task
        defer { refresh = nil }
        let fetched = try await task.value
        list = fetched
        freshUntil = Monotonic.now() + Self.lifetime
        return fetched
    }

    private static func order(_ left: Belvo.Institution, _ right: Belvo.Institution) -> Bool {
        (left.sortPriority ?? .max, left.displayName, left.id.description)
            < (right.sortPriority ?? .max, right.displayName, right.id.description)
    }
}

extension Belvo.Institution {
    /// Whether a user may choose it. The words for the status are not documented (belvo-api.md §3.2), so only the one
    /// that is known to mean the opposite excludes.
    var offersBiometricPix: Bool {
        guard isActive, let biometricPix else { return false }
        return biometricPix.status.uppercased() != "UNAVAILABLE"
    }
}

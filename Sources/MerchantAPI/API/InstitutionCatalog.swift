import Belvo
import BelvoGate
import Logging
import MerchantWorkflows
import Synchronization
import Transport

/// The banks that can be enrolled with, kept for a while: apps ask far more often than the list changes.
///
/// One refresh runs at a time, however many requests ask. A request that can be given a list does not wait for it: a
/// list past its time is given at once while a new one is fetched behind it, and stays in use for as long as Belvo is
/// out of reach. Only the very first list is waited for, and one so old that a user may well choose a bank that left
/// it; and that only while nothing says that Belvo is away.
package final class InstitutionCatalog: Sendable {
    /// How long a list counts as fresh.
    static let lifetime = Duration.seconds(600)
    /// How old a list may be that is given while a new one can be waited for: a night without users makes it older.
    static let ageMax = Duration.seconds(3_600)
    /// How long after a refresh that failed the next one begins, at the earliest; later if Belvo asks for it. Until
    /// then a request without a list gets the same failure.
    static let pause = Duration.seconds(5)

    private struct State {
        var list: (institutions: [Belvo.Institution], fetchedAt: Monotonic)?
        /// Why the last refresh failed, and until when none is begun; nil when it did not fail.
        var failure: (error: any Error, pauseEnds: Monotonic)?
        var refresh: Task<[Belvo.Institution], any Error>?
    }

    /// The answer to a request for the list.
    private enum Offer {
        case list([Belvo.Institution])
        case failure(any Error)
        case wait(Task<[Belvo.Institution], any Error>)
    }

    private let belvo: Belvo.Client
    private let loop: EventLoop
    private let log: Logger
    private let now: @Sendable () -> Monotonic
    private let state = Mutex(State())

    /// Takes the loop on which every refresh runs, whichever request caused it: one that runs for as long as the
    /// catalog is used.
    package init(
        belvo: Belvo.Client, loop: EventLoop, log: Logger, now: @escaping @Sendable () -> Monotonic = Monotonic.now
    ) {
        self.belvo = belvo
        self.loop = loop
        self.log = log
        self.now = now
    }

    /// The institutions that offer Biometric Pix now, in the order in which they should be shown.
    ///
    /// Throws Belvo's failure when there has never been a list.
    func offered() async throws -> [Belvo.Institution] {
        switch offer() {
        case .list(let list): return list
        case .failure(let error): throw error
        case .wait(let refresh):
            do {
                return try await refresh.value
            } catch {
                guard let list = state.withLock(\.list) else { throw error }
                return list.institutions
            }
        }
    }

    /// Waits for the running refresh, if any: before its loop ends.
    package func finish() async {
        _ = await state.withLock(\.refresh)?.result
    }

    private func offer() -> Offer {
        let now = now()
        return state.withLock { state in
            let age = state.list.map { now - $0.fetchedAt }
            if let list = state.list, let age, age < Self.lifetime { return .list(list.institutions) }
            if let failure = state.failure, state.refresh == nil, now < failure.pauseEnds {
                return state.list.map { .list($0.institutions) } ?? .failure(failure.error)
            }
            // The list is for all users, so it is not charged to the user who asks first.
            let refresh =
                state.refresh
                ?? CallOrigin.$current.withValue(nil) { loop.task { [self] in try await refreshed() } }
            state.refresh = refresh
            // While Belvo is away a new list is not worth waiting for: it would not come.
            if let list = state.list, let age, age < Self.ageMax || state.failure != nil {
                return .list(list.institutions)
            }
            return .wait(refresh)
        }
    }

    /// Fetches the list, and remembers it, or why there is none, before any waiting request continues.
    private func refreshed() async throws -> [Belvo.Institution] {
        do {
            let fetched = try await belvo.listInstitutions()
            tell(fetched)
            let institutions = fetched.institutions.filter(\.offersBiometricPix).sorted(by: Self.order)
            let now = now()
            state.withLock { state in
                state.list = (institutions, now)
                state.failure = nil
                state.refresh = nil
            }
            return institutions
        } catch {
            let pauseEnds = now() + max(Self.pause, error.retryAfter ?? .zero)
            let told = error.notCausedByApp
            let isStale = state.withLock { state in
                state.failure = (told, pauseEnds)
                state.refresh = nil
                return state.list != nil
            }
            if isStale { log.warning("institutions.stale", metadata: ["reason": "\(error)"]) }
            throw told
        }
    }

    /// An event about a list, for operators: that banks are missing from it, or that Belvo uses a new word.
    private func tell(_ list: InstitutionList) {
        if list.unreadable > 0 { log.warning("institutions.left_out", metadata: ["count": "\(list.unreadable)"]) }
        let words = Set(list.institutions.compactMap { $0.biometricPix?.status.uppercased() })
            .subtracting(["AVAILABLE", "UNAVAILABLE"])
        if !words.isEmpty {
            log.warning(
                "institutions.status_unknown",
                metadata: ["words": "\(words.sorted().prefix(8).joined(separator: ", "))"])
        }
    }

    private static func order(_ left: Belvo.Institution, _ right: Belvo.Institution) -> Bool {
        (left.sortPriority ?? .max, left.displayName, left.id.description)
            < (right.sortPriority ?? .max, right.displayName, right.id.description)
    }
}

extension BelvoError {
    fileprivate var retryAfter: Duration? {
        if case .throttled(let refusal) = self { refusal.retryAfter } else { nil }
    }
}

extension Belvo.Institution {
    /// Whether a user may choose it. The words for the status are not documented (belvo-api.md §3.2), so only the one
    /// that is known to mean the opposite excludes.
    package var offersBiometricPix: Bool {
        guard isActive, let biometricPix else { return false }
        return biometricPix.status.uppercased() != "UNAVAILABLE"
    }
}

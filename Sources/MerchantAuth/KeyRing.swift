import MerchantModel
import Synchronization
import Transport

/// The current keys, and the only place that fetches new ones.
///
/// Old keys stay when new ones cannot be fetched: the server of the key set may be down for a while, and users are not
/// to be locked out for it. However many ask at once, the source is asked once; the others wait for that answer.
final class KeyRing: Sendable {
    /// The keys as they are known now. The version grows with every change.
    struct CurrentKeys: Sendable {
        let keys: KeySet
        let version: UInt64
    }

    private struct State {
        var current: CurrentKeys?
        /// The document from which the present keys were read; nil while there are none, so that an empty one is not
        /// taken for what is known already.
        var document: [UInt8]?
        var lastAttempt: Monotonic?
        var lastOutcome: Outcome = .failure(.unreachable("it was not read yet"))
        var isRefreshing = false
        var waiting: [CheckedContinuation<Outcome, Never>] = []
    }

    private typealias Outcome = Result<Void, KeySetFault>

    private let source: TokenKeySource
    private let dependencies: AuthenticatorDependencies
    private let state = Mutex(State())
    private let tokensWaiting = Atomic(0)
    private let versionNow = Atomic<UInt64>(0)

    init(_ source: TokenKeySource, _ dependencies: AuthenticatorDependencies) {
        self.source = source
        self.dependencies = dependencies
    }

    /// The present version, without waiting for anything; 0 while there are no keys.
    var version: UInt64 { versionNow.load(ordering: .acquiring) }

    var current: CurrentKeys? { state.withLock { $0.current } }

    /// Reads the source, or waits for who is at it. Throws when there are no new keys to be had.
    func refresh() async throws(KeySetFault) {
        try await refresh(unlessWithin: .zero).get()
    }

    /// Reads the source because a token cannot be checked without, unless it was read a moment ago: what strangers
    /// send must not become requests to another server.
    ///
    /// False when too many wait for it already: the source may take long, and each that waits has a place among the
    /// requests in flight.
    func refreshOnDemand() async -> Bool {
        defer { tokensWaiting.wrappingSubtract(1, ordering: .relaxed) }
        guard tokensWaiting.wrappingAdd(1, ordering: .relaxed).newValue <= KeyRing.tokensWaitingMax else {
            return false
        }
        _ = await refresh(unlessWithin: current == nil ? KeyRing.pauseWithoutKeys : KeyRing.pauseOnDemand)
        return true
    }

    /// Keeps the keys fresh until the task is cancelled.
    func run() async {
        if current == nil { _ = await refresh(unlessWithin: .zero) }
        while !Task.isCancelled {
            // Sleeping ends early only when the task is cancelled, and then there is nothing left to do.
            guard (try? await dependencies.sleep(pause)) != nil else { return }
            _ = await refresh(unlessWithin: .zero)
        }
    }

    private var pause: Duration {
        let (hasKeys, hasFailed) = state.withLock { state in
            if case .failure = state.lastOutcome { return (state.current != nil, true) }
            return (true, false)
        }
        if !hasKeys { return KeyRing.pauseWithoutKeys }
        return switch source {
        case .hs256: KeyRing.pauseOfSecret
        case .jwksFile: KeyRing.pauseOfFile
        case .jwksURL: hasFailed ? KeyRing.pauseOnDemand : KeyRing.pauseOfURL
        }
    }

    private func refresh(unlessWithin gap: Duration) async -> Outcome {
        switch begin(unlessWithin: gap) {
        case .tooSoon(let outcome): return outcome
        case .waits: return await withCheckedContinuation { join($0) }
        case .leads:
            let outcome = await reload()
            for waiter in end(outcome) { waiter.resume(returning: outcome) }
            return outcome
        }
    }

    private enum Role {
        case leads
        case waits
        case tooSoon(Outcome)
    }

    private func begin(unlessWithin gap: Duration) -> Role {
        let now = dependencies.monotonic()
        return state.withLock { state in
            if state.isRefreshing { return .waits }
            if let last = state.lastAttempt, now - last < gap { return .tooSoon(state.lastOutcome) }
            state.isRefreshing = true
            state.lastAttempt = now
            return .leads
        }
    }

    private func join(_ waiter: CheckedContinuation<Outcome, Never>) {
        let outcome: Outcome? = state.withLock { state in
            guard state.isRefreshing else { return state.lastOutcome }
            state.waiting.append(waiter)
            return nil
        }
        if let outcome { waiter.resume(returning: outcome) }
    }

    private func end(_ outcome: Outcome) -> [CheckedContinuation<Outcome, Never>] {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isRefreshing = false
            state.lastOutcome = outcome
            return state.waiting
        }
    }

    private func reload() async -> Outcome {
        do {
            switch source {
            case .hs256(let secret):
                if current == nil { install(try await KeySet(secret), document: nil) }
            case .jwksFile(let path):
                try await take(BlockingThreads.shared.run { () throws(SmallFileFault) in try SmallFile.read(path) })
            case .jwksURL:
                try await take(dependencies.fetch())
            }
            return .success(())
        } catch {
            let fault = error as? KeySetFault ?? .unreachable("\(error)")
            dependencies.onEvent(.keysNotRead(fault))
            return .failure(fault)
        }
    }

    private func take(_ document: [UInt8]) async throws {
        guard document != state.withLock({ $0.document }) else { return }
        let keys = try await KeySet(document: document)
        install(keys, document: document)
        dependencies.onEvent(.keysChanged(usable: keys.count, ignored: keys.ignoredCount))
    }

    private func install(_ keys: KeySet, document: [UInt8]?) {
        state.withLock { state in
            let version = (state.current?.version ?? 0) + 1
            state.current = CurrentKeys(keys: keys, version: version)
            state.document = document
            versionNow.store(version, ordering: .releasing)
        }
    }

    /// Tokens that may wait at a time for the source.
    static let tokensWaitingMax = 64
    static let pauseOfURL = Duration.seconds(300)
    /// A file is read whole to see whether it changed: that is less than a millisecond, and misses no kind of change.
    static let pauseOfFile = Duration.seconds(10)
    /// A secret does not change; the task only has to keep running.
    static let pauseOfSecret = Duration.seconds(3_600)
    /// The least time between two readings on account of a token, or after one that failed.
    static let pauseOnDemand = Duration.seconds(30)
    /// No user can be served without keys, so they are fetched more often.
    static let pauseWithoutKeys = Duration.seconds(2)
}

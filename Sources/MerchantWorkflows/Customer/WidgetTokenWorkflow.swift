import Belvo
import Logging
import MerchantModel
import MerchantStore
import Payments
import Transport

/// How a user gets a token for Belvo's SDK: the last one again, a renewed one, or a new one.
///
/// However many requests ask for one user at once, on whichever instances, one at a time has the claim to ask Belvo,
/// and the others wait for what comes of it.
package struct WidgetTokenWorkflow: Sendable {
    /// How long before its end a token is not given any more.
    ///
    /// An app that gets a token should be able to finish a step with it, such as choosing a bank or signing once,
    /// although Belvo's clock and the database's differ by some seconds. Of a token that lives for less than two
    /// minutes, half of the life goes instead, so that even then not every request mints one.
    static let margin = Duration.seconds(60)

    /// How long a token is given again that does not say when it ends. Belvo's lifetimes are not documented; every one
    /// that was heard of is ten minutes or more.
    static let reuseWithoutEnd = Duration.seconds(60)

    /// After how long a waiting request first checks whether the claim has ended: little against a call to
    /// Belvo.
    static let firstPause = Duration.milliseconds(50)

    /// The longest time between two such polls.
    static let pauseMax = Duration.seconds(1)

    /// From one poll to the next. Each time half as long again: every poll asks the database twice, and while Belvo is
    /// slow one user may have hundreds of requests waiting.
    static func pause(after pause: Duration) -> Duration { min(pause * 3 / 2, pauseMax) }

    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// The user's token.
    ///
    /// Throws Belvo's failure, and `WorkflowRefusal.contended` in a request that waited for as long as a claim may
    /// last.
    package func token(for subject: UserSubject, on context: CallContext) async throws -> WidgetTokenPair {
        let giveUp = Monotonic.now() + lease
        var pause = Self.firstPause
        while true {
            if let kept = try await dependencies.store.widgetToken(of: subject) { return kept }
            if let claim = try await dependencies.store.claimWidgetToken(
                of: subject, id: dependencies.identities.next(), lease: lease)
            {
                return try await use(claim, for: subject, on: context)
            }
            guard Monotonic.now() < giveUp else { throw WorkflowRefusal.contended }
            // Requests that began together must not all try again at the same moment.
            try await sleep(for: pause * Double.random(in: 0.5...1))
            pause = Self.pause(after: pause)
        }
    }

    /// How long a claim may last: two calls to Belvo, the second because the first was refused, and what is written.
    private var lease: Duration { dependencies.timeouts.callDeadline * 2 + .seconds(5) }

    private func use(
        _ claim: WidgetTokenClaim, for subject: UserSubject, on context: CallContext
    ) async throws -> WidgetTokenPair {
        let token: WidgetTokenPair
        do {
            if let renewed = try await renewed(claim, on: context) {
                token = renewed
            } else {
                token = try await minted(on: context)
            }
        } catch {
            await giveBack(claim)
            throw error
        }
        let reuse = WidgetTokenReuse(margin: Self.margin, withoutEnd: Self.reuseWithoutEnd)
        if try await dependencies.store.keep(token, reuse: reuse, of: claim) { return token }
        // This server was away for longer than its claim lasted. What others have kept since is the user's token; ours
        // is given to no app, since no row would say that the user holds it.
        guard let kept = try await dependencies.store.widgetToken(of: subject) else { throw WorkflowRefusal.contended }
        return kept
    }

    /// The token that Belvo gives for the refresh token; nothing where there is none, or where Belvo does not want it.
    ///
    /// Throws when nothing gets through to Belvo at all: minting would meet the same.
    private func renewed(_ claim: WidgetTokenClaim, on context: CallContext) async throws -> WidgetTokenPair? {
        guard let path = dependencies.policy.tokenRefreshPath, let text = claim.refresh?.text,
            let refresh = WidgetToken.Secret(text), !refresh.hasEnded(by: claim.clock)
        else { return nil }
        do {
            let token = try await dependencies.belvo.refreshWidgetToken(refresh, at: path, trace: context.trace)
            dependencies.log.info("widget_token.renewed", metadata: context.requestMetadata)
            // Where no new refresh token comes, the old one lives on.
            return WidgetTokenPair(token, refresh: token.refresh ?? refresh)
        } catch {
            switch error {
            case .unreachable, .throttled, .unanswered(.late): throw error
            case .refused, .denied, .notFound, .conflict, .unanswered, .malformedAnswer, .outcomeUnknown:
                dependencies.log.warning(
                    "widget_token.not_renewed",
                    metadata: context.requestMetadata.merging(["reason": "\(error)"]) { $1 })
                return nil
            }
        }
    }

    private func minted(on context: CallContext) async throws -> WidgetTokenPair {
        let token: WidgetToken
        do {
            token = try await dependencies.belvo.mintWidgetToken(trace: context.trace)
        } catch {
            throw error.notCausedByApp
        }
        dependencies.log.info("widget_token.minted", metadata: context.requestMetadata)
        return WidgetTokenPair(token, refresh: token.refresh)
    }

    private func giveBack(_ claim: WidgetTokenClaim) async {
        do {
            try await dependencies.store.release(claim)
        } catch {
            // The claim ends by itself, and what the app has to know is Belvo's failure.
            dependencies.log.warning("widget_token.turn_not_ended", metadata: ["reason": "\(error)"])
        }
    }

    private func sleep(for pause: Duration) async throws {
        guard let loop = EventLoop.current else { return try await Task.sleep(for: pause) }
        try await loop.sleep(for: pause)
    }
}

extension WidgetTokenPair {
    fileprivate init(_ token: WidgetToken, refresh: WidgetToken.Secret?) {
        self.init(
            access: Secret(token.access.text), refresh: refresh.map { Secret($0.text) },
            expiresAt: token.access.expiresAtSeconds.map(Timestamp.init(secondsSince1970:)),
            // A day at most: the arithmetic is the database's, and no token for an app lives longer.
            lifetime: token.access.lifetimeSeconds.map { .seconds(min($0, 86_400)) })
    }
}

extension WidgetToken.Secret {
    /// Whether it says that it has ended. One that says nothing may be tried.
    fileprivate func hasEnded(by clock: DatabaseClock) -> Bool {
        expiresAtSeconds.map { Timestamp(secondsSince1970: $0) <= clock.now } ?? false
    }
}

extension Timestamp {
    /// A moment in whole seconds, as tokens tell time (RFC 7519 §2).
    fileprivate init(secondsSince1970 seconds: Int64) {
        let (microseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        self.init(microsecondsSince1970: overflow ? (seconds < 0 ? .min : .max) : microseconds)
    }
}

extension CallContext {
    fileprivate var requestMetadata: Logger.Metadata {
        cause.requestID.map { ["request_id": "\($0)"] } ?? [:]
    }
}

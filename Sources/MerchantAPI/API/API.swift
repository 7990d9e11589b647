import Belvo
import BelvoGate
import FoundationEssentials
import HTTP
import JSON
import Logging
import MerchantAuth
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Transport

/// The merchant's HTTP interface: every request goes through `handle(_:_:)`, and every failure becomes a problem
/// document there.
///
/// A class, because what is handed on to ten thousand waiting requests should be one word long.
package final class API: Sendable {
    let dependencies: Dependencies
    let authenticator: Authenticator
    let institutions: InstitutionCatalog
    let health: Health
    let callbackPage: CallbackPage
    let access: AccessRules
    let associations: AppAssociations

    private let counts: RequestCounts
    /// The level at which each answer is logged.
    private let answerLevel: Logger.Level
    private let router = Router()
    private let vault: Vault

    package init(
        dependencies: Dependencies, authenticator: Authenticator, institutions: InstitutionCatalog, health: Health,
        callbackPage: CallbackPage, access: AccessRules, associations: AppAssociations, vault: Vault,
        counts: RequestCounts, logsRequests: Bool = false
    ) {
        self.dependencies = dependencies
        self.authenticator = authenticator
        self.institutions = institutions
        self.health = health
        self.callbackPage = callbackPage
        self.access = access
        self.associations = associations
        self.vault = vault
        self.counts = counts
        answerLevel = logsRequests ? .info : .debug
    }

    /// Answers one request, whatever it is: at once if nothing has to be waited for.
    package func handle(_ request: Request, _ context: RequestContext) -> Handling {
        let made = RequestID.made()
        var inbound = Inbound(
            request: request, requestID: RequestID.taken(from: request) ?? made,
            client: access.proxies.client(of: request, from: context.peer))
        // Behind a proxy a connection is many clients'.
        if inbound.client != context.peer { context.setOwner(seededHash(of: inbound.client.subscriber)) }
        let match = router.match(request.method, request.target.path)
        let answered = Answered(
            route: RequestCounts.Route(match, request.method), requestID: inbound.requestID,
            trace: TraceParent(of: request)?.traceID ?? made,
            client: inbound.client, sharing: access.crossOrigin.sharing(with: request))
        guard case .operation(let operation, let id) = match, operation != .live else {
            do {
                return .reply(finish(.response(try answerAtOnce(inbound, to: match)), answered, context))
            } catch {
                return .reply(Trace.$current.withValue(answered.trace) { refuse(error, inbound, answered, context) })
            }
        }
        inbound.pathID = id
        return .work { [inbound] in
            await Trace.$current.withValue(answered.trace) {
                do {
                    return self.finish(try await self.dispatch(operation, inbound, context), answered, context)
                } catch {
                    return self.refuse(error, inbound, answered, context)
                }
            }
        }
    }

    private func refuse(
        _ error: any Error, _ inbound: Inbound, _ answered: Answered, _ context: RequestContext
    ) -> Reply {
        if error is AccessRefusal { noteRefusal(inbound, context) }
        return finish(.response(refusal(error, to: inbound)), answered, context)
    }

    private func finish(_ reply: consuming Reply, _ answered: Answered, _ context: RequestContext) -> Reply {
        switch reply {
        case .response(var response):
            complete(&response, of: answered, since: context.arrivedAt)
            return .response(response)
        case let later:
            return later.finished(since: context.arrivedAt) { self.complete(&$0, of: answered, since: $1) }
        }
    }

    /// A request whose answer is known, with the values that its log line and its counts need.
    private struct Answered: Sendable {
        let route: RequestCounts.Route
        let requestID: String
        let trace: String
        let client: IPAddress
        let sharing: CrossOrigin.Sharing?
    }

    /// The headers of every answer, also of one that comes later; and its place among the counted ones.
    private func complete(_ response: inout Response, of answered: Answered, since start: Monotonic) {
        response.headers.append(RequestID.field, answered.requestID)
        access.transportSecurity.apply(to: &response)
        answered.sharing?.apply(to: &response)
        let nanoseconds = Monotonic.now().nanoseconds - start.nanoseconds
        let status = response.status
        counts.count(answered.route, status, nanoseconds: nanoseconds)
        // Only when the setting asks for it: what an operator must know has a line of its own, and no stranger may be
        // able to fill the log.
        dependencies.log.log(
            level: answerLevel, "request.answered",
            metadata: [
                "request_id": "\(answered.requestID)", "trace_id": "\(answered.trace)", "client": "\(answered.client)",
                "operation": "\(answered.route.name)", "status": "\(status.code)",
                "milliseconds": "\(nanoseconds / 1_000_000)",
            ])
    }

    /// The answer to a request that waits for nothing: the process lives, or knows no such resource or method.
    private func answerAtOnce(_ inbound: Inbound, to match: Router.Match) throws -> Response {
        switch match {
        case .nothing:
            try access.admitWithoutToken(inbound.client)
            throw APIError.notFound
        case .otherMethod(let allowed):
            try access.admitWithoutToken(inbound.client)
            if let answer = access.crossOrigin.preflight(inbound.request, methods: allowed) { return answer }
            var error = APIError(.methodNotAllowed, .methodNotAllowed, "This resource does not know the method.")
            error.headers = [("allow", allowed.joined(separator: ", "))]
            throw error
        case .operation:
            try access.admitProbe(inbound.client)
            return health.live()
        }
    }

    private nonisolated(nonsending) func dispatch(
        _ operation: Operation, _ inbound: Inbound, _ context: RequestContext
    ) async throws -> Reply {
        switch operation.access {
        case .probe:
            try access.admitProbe(inbound.client)
            return .response(try await perform(operation, inbound))
        case .anybody: try access.admitWithoutToken(inbound.client)
        case .browser:
            do {
                try access.admitWithoutToken(inbound.client)
            } catch {
                noteRefusal(inbound, context)
                return .response(tooManyCallbacks(error, inbound))
            }
        case .user, .shop, .belvo: break
        }
        try access.inFlight.enter()
        defer { access.inFlight.leave() }
        return operation.access == .user
            ? try await attend(operation, inbound, context) : .response(try await perform(operation, inbound))
    }

    /// The connection is told that its client asks too often, unless it is a proxy's, and so many clients'.
    private func noteRefusal(_ inbound: Inbound, _ context: RequestContext) {
        guard inbound.client == context.peer, !access.proxies.isTrusted(context.peer) else { return }
        context.noteRefusal()
    }

    /// Answers a user's request, which counts among the user's others until its answer has left.
    private nonisolated(nonsending) func attend(
        _ operation: Operation, _ inbound: Inbound, _ context: RequestContext
    ) async throws -> Reply {
        var inbound = inbound
        let user = try await user(of: inbound)
        let permit = try access.inFlight.permit(for: user)
        if let permit { context.keep(permit) }
        inbound.user = user
        let origin = CallOrigin.user(user)
        context.setOwner(origin.party)
        return try await CallOrigin.$current.withValue(origin) { [inbound] in
            // Also where there is no connection to keep it.
            defer { withExtendedLifetime(permit) {} }
            guard operation.isRead else {
                // A repetition changes nothing: what it answers may be a commit that no standby has yet, because the
                // wait for one was cancelled.
                return .response(
                    try await dependencies.store.confirming {
                        try await perform(operation, inbound)
                    } where: {
                        $0.status.isSuccess
                    })
            }
            return try await access.readTurns.run(for: user) {
                if let reply = try await waitForChange(operation, inbound) { return reply }
                return .response(try await perform(operation, inbound))
            }
        }
    }

    /// The user whose request it is. Throws when the token does not prove it, or when the user has made too many
    /// requests.
    nonisolated(nonsending) func user(of inbound: Inbound) async throws -> UserSubject {
        if let user = inbound.user { return user }
        let user: UserSubject
        do {
            user = try await authenticator.authenticate(inbound.request.headers.values("authorization"))
        } catch {
            // Where there are keys, it is the token's that is not among them.
            if error != .keysUnavailable || authenticator.hasKeys { try access.admitWithoutToken(inbound.client) }
            throw error
        }
        try access.admit(user)
        return user
    }

    /// Turns a failure into its answer, and logs what the answer leaves out.
    ///
    /// Of refusals only those are logged that may be an attack, and not all of one client's.
    func refusal(_ error: any Error, to inbound: Inbound) -> Response {
        let described = APIError(describing: error)
        if described.isAlarm || described.status.code >= 500 {
            log(described, of: inbound, as: "request.failed", described.isAlarm ? .error : .warning)
        } else if described.status == .unauthorized || described.status == .tooManyRequests,
            let leftOut = access.refusalsLeftOut(of: inbound.client)
        {
            log(described, of: inbound, as: "request.refused", .info, leftOut: leftOut)
        }
        return described.response(requestID: inbound.requestID)
    }

    private func log(
        _ error: APIError, of inbound: Inbound, as event: Logger.Message, _ level: Logger.Level, leftOut: Int = 0
    ) {
        let request = inbound.request
        var details: Logger.Metadata = [
            "request_id": "\(inbound.requestID)", "client": "\(inbound.client)", "method": "\(request.method)",
            "path": "\(request.target.path)", "status": "\(error.status.code)", "code": "\(error.code)",
            "reason": "\(error.logged ?? error.code)",
        ]
        if leftOut > 0 { details["refusals_left_out"] = .stringConvertible(leftOut) }
        dependencies.log.log(level: level, event, metadata: details)
    }
}

// What handlers share.
extension API {
    /// The cause of the request, for the history, and its trace, for Belvo.
    func callContext(_ inbound: Inbound, _ actor: Cause.Actor = .app) -> CallContext {
        CallContext(
            cause: Cause(actor: actor, requestID: inbound.requestID),
            trace: TraceParent(of: inbound.request))
    }

    func digest(_ value: JSONValue, for purpose: LookupPurpose) -> [UInt8] {
        vault.lookup(value.canonicalBytes(), for: purpose)
    }

    func digest(_ bytes: [UInt8], for purpose: LookupPurpose) -> [UInt8] {
        vault.lookup(bytes, for: purpose)
    }

    func json(_ status: HTTP.Status, _ body: [UInt8]) -> Response {
        Response(status, headers: Self.jsonHeaders, body: body)
    }

    private static let jsonHeaders: Headers = ["content-type": "application/json", "cache-control": "no-store"]

    /// A page of a list, newest first, with the cursor of the next one.
    func page<Record>(
        _ records: [Stored<Record>], limit: Int, id: (Record) -> UUID,
        write: (Stored<Record>, inout JSONWriter) -> Void
    ) -> Response {
        let shown = records.prefix(limit)
        let body = JSONWriter.object { page in
            page.memberArray("results") { results in
                for record in shown { results.object { write(record, &$0) } }
            }
            page.member("next", records.count > limit ? shown.last.map { Query.cursor(behind: id($0.record)) } : nil)
        }
        return json(.ok, body)
    }

    var pollInterval: Duration { dependencies.timeouts.pollInterval }
}

import FoundationEssentials
import HTTP
import JSON
import Synchronization
import Transport

/// The shop: what its page asks for, and what the merchant server tells it.
struct Shop: Sendable {
    private struct State {
        var orders: [String: ShopOrder] = [:]
        /// Events that have been taken. In a shop: a unique key in the database.
        var events: Set<String> = []
    }

    private static let tokenLifetime = 300

    private let origin: String
    private let authority: String
    private let loopbackAuthority: String
    private let page: Page
    private let products: [Product]
    private let secrets: Secrets
    private let merchant: Remote
    private let journal: Journal
    private let backstage: Backstage
    private let state = Box(State())

    init(
        port: UInt16, page: Page, products: [Product], secrets: Secrets, merchant: Remote, journal: Journal,
        backstage: Backstage
    ) {
        authority = "localhost:\(port)"
        loopbackAuthority = "127.0.0.1:\(port)"
        origin = "http://localhost:\(port)"
        self.page = page
        self.products = products
        self.secrets = secrets
        self.merchant = merchant
        self.journal = journal
        self.backstage = backstage
    }

    /// Answers one request.
    nonisolated(nonsending) func reply(to request: Request) async -> Reply {
        let path = request.target.path
        // The merchant server is no browser, and reaches the shop by whatever address it was given.
        if path == "/webhooks/payments" { return withPolicy(await receiveEvent(request)) }
        let host = request.headers["host"]
        if host == loopbackAuthority, request.method == .get {
            return .response(Response(Status(302), headers: ["location": "\(origin)\(request.target)"]))
        }
        // No other site's page may ask, be it under a name of its own that leads here.
        guard host == authority, [nil, origin].contains(request.headers["origin"]) else {
            return .response(Response(.forbidden))
        }
        if request.method == .get || request.method == .head, let file = page.file(path) {
            return withPolicy(
                Response(.ok, headers: ["content-type": file.type, "cache-control": "no-cache"], body: file.body))
        }
        let visitor = Session(cookies: request.headers["cookie"], secret: secrets.tokens)
        if path.hasPrefix("/demo/") { return withPolicy(await demonstrate(request)) }
        return withPolicy(await answer(request, of: visitor))
    }

    private nonisolated(nonsending) func answer(_ request: Request, of visitor: Session?) async -> Response {
        switch (request.method, request.target.path) {
        case (.get, "/shop/setup"): return describe()
        case (.post, "/shop/session"): return signIn(visitor, request)
        case (.get, "/shop/token"):
            guard let visitor else { return Response(.unauthorized) }
            return issueToken(to: visitor)
        case (.post, "/shop/orders"):
            guard let visitor else { return Response(.unauthorized) }
            return await placeOrder(request, of: visitor)
        case (.get, let path) where path.hasPrefix("/shop/orders/"):
            guard let visitor else { return Response(.unauthorized) }
            let order = state.change { $0.orders[String(path.dropFirst("/shop/orders/".count))] }
            guard let order, order.subject == visitor.subject else { return Response(.notFound) }
            return json(.ok) { order.write(to: &$0) }
        default: return Response(.notFound)
        }
    }

    /// What the page has to know before it begins.
    private func describe() -> Response {
        json(.ok) { body in
            body.member("api", merchant.origin.description)
            body.member("breaks", backstage.sandbox != nil)
            body.member("shows_rows", backstage.records != nil)
            body.member("kills", backstage.processFile != nil)
            body.memberArray("products") { products in
                for product in self.products {
                    products.object {
                        $0.member("id", product.id)
                        $0.member("centavos", product.centavos)
                    }
                }
            }
        }
    }

    /// A visitor is known again by a cookie; `{"anew": true}` makes another visitor of it.
    private func signIn(_ visitor: Session?, _ request: Request) -> Response {
        let isAnew = (try? JSONDocument(parsing: request.body).root)?["anew"]?.bool ?? false
        let session = isAnew ? Session() : visitor ?? Session()
        var response = issueToken(to: session)
        response.headers.append("set-cookie", session.setCookie(secret: secrets.tokens))
        return response
    }

    /// The token with which the page speaks to the merchant server for its user.
    private func issueToken(to visitor: Session) -> Response {
        json(.ok) {
            $0.member("subject", visitor.subject)
            $0.member(
                "token",
                Signing.userToken(
                    subject: visitor.subject, secret: secrets.tokens, now: Clock.seconds, lifetime: Shop.tokenLifetime))
            $0.member("lifetime", Shop.tokenLifetime)
        }
    }

    /// Names the price: `PUT /orders/{reference}`, before the page may pay.
    private nonisolated(nonsending) func placeOrder(_ request: Request, of visitor: Session) async -> Response {
        guard let root = try? JSONDocument(parsing: request.body).root,
            let order = ShopOrder(JSONReader(root), of: visitor.subject, from: products)
        else { return Response(.badRequest) }
        let body = JSONWriter.object {
            $0.member("subject", order.subject)
            $0.member("amount", order.amount)
            $0.member("description", order.description)
        }
        let path = "/orders/\(order.reference)"
        let answer = await merchant.send(.put, path, body, bearer: secrets.orders)
        journal.add("order") { line in
            line.member("method", "PUT")
            line.member("path", path)
            line.member("status", answer?.status.code ?? 0)
            line.memberRaw("body", body)
        }
        // 409: the order is being paid or is paid, and stays as it is.
        guard let answer, answer.status.isSuccess || answer.status == .conflict else {
            return Response(.serviceUnavailable, headers: ["retry-after": "2"])
        }
        let known = state.change { state in
            let known = state.orders[order.reference] ?? order
            state.orders[order.reference] = known
            return known
        }
        return json(.ok) { known.write(to: &$0) }
    }

    /// `POST /webhooks/payments`: how an order ended, signed by the merchant server, perhaps more than once.
    private nonisolated(nonsending) func receiveEvent(_ request: Request) async -> Response {
        let id = request.headers["webhook-id"]
        let isGenuine = Signing.isGenuine(
            body: request.body, id: id, timestamp: request.headers["webhook-timestamp"],
            signatures: request.headers["webhook-signature"], secret: secrets.events, now: Clock.seconds)
        guard isGenuine, let id, let event = try? JSONDocument(parsing: request.body).root else {
            return Response(.unauthorized)
        }
        let isNew = state.change { state in
            guard state.events.insert(id).inserted else { return false }
            if let reference = event["data"]?["reference"]?.string {
                switch event["type"]?.string {
                case "payment.succeeded":
                    state.orders[reference]?.state = "paid"
                    state.orders[reference]?.endToEndID = event["data"]?["end_to_end_id"]?.string
                case "order.disputed": state.orders[reference]?.state = "disputed"
                default: break
                }
            }
            return true
        }
        journal.add("event") { line in
            line.member("repeated", !isNew)
            line.memberRaw("body", request.body)
        }
        return Response(.noContent)
    }
}

/// What belongs to the demonstration, and to no shop.
extension Shop {
    private nonisolated(nonsending) func demonstrate(_ request: Request) async -> Reply {
        // A query that cannot be read asks for nothing.
        let query = (try? FormFields(parsing: request.target.query ?? "")) ?? FormFields()
        let body = try? JSONDocument(parsing: request.body).root
        switch (request.method, request.target.path) {
        case (.get, "/demo/feed"): return feed(query)
        case (.get, "/demo/records"): return .response(await records(query))
        case (.get, "/demo/verdict"):
            return .response(json(.ok, await backstage.verdict(reference: query["reference"] ?? "")))
        case (.post, "/demo/mishap"):
            guard let mishap = body?["mishap"]?.string.flatMap(Mishap.init) else {
                return .response(Response(await backstage.mishaps.disarm(on: backstage) ? .noContent : .badGateway))
            }
            return .response(Response(await backstage.mishaps.arm(mishap, on: backstage) ? .noContent : .badGateway))
        case (.post, "/demo/settle"):
            let isDone = await backstage.mishaps.settle(body?["belvo_id"]?.string ?? "", on: backstage)
            return .response(Response(isDone ? .noContent : .badGateway))
        default: return .response(Response(.notFound))
        }
    }

    /// What has happened since a number: at once, or as soon as something has.
    private func feed(_ query: FormFields) -> Reply {
        backstage.look(at: query.values("record").compactMap { Records.Subject($0) })
        let after = query["after"].flatMap { Int($0) } ?? 0
        guard query["run"] == "\(journal.run)" else { return .response(json(.ok, journal.lines(after: 0))) }
        guard let loop = EventLoop.current else { return .response(json(.ok, journal.lines(after: after))) }
        let signal = LoopBound(WakeSignal(), on: loop)
        if let lines = journal.lines(after: after, orWake: signal) { return .response(json(.ok, lines)) }
        return .held(
            HeldReply(signal: signal, until: Monotonic.now() + .seconds(20)) { _ in
                withPolicy(json(.ok, journal.lines(after: after)))
            })
    }

    private nonisolated(nonsending) func records(_ query: FormFields) async -> Response {
        guard let records = backstage.records, let subject = query["record"].flatMap({ Records.Subject($0) }),
            let answers = try? await records.answers(about: subject)
        else { return Response(.notFound) }
        return json(.ok) { body in
            body.memberArray("results") { results in
                for answer in answers {
                    results.object {
                        $0.member("title", answer.title)
                        $0.member("sql", answer.statement)
                        $0.memberRaw("rows", answer.rows)
                    }
                }
            }
        }
    }
}

extension Shop {
    private func json(_ status: Status, _ body: (inout JSONWriter) -> Void) -> Response {
        json(status, JSONWriter.object(body))
    }

    private func json(_ status: Status, _ body: [UInt8]) -> Response {
        Response(status, headers: ["content-type": "application/json", "cache-control": "no-store"], body: body)
    }

    private func withPolicy(_ response: Response) -> Reply { withPolicy(.response(response)) }

    /// Nothing is loaded but from here, and nothing is asked but this shop and the merchant server.
    private func withPolicy(_ reply: Reply) -> Reply {
        guard case .response(var response) = reply else { return reply }
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
            "connect-src 'self' \(merchant.origin)", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
        response.headers.append("content-security-policy", policy.joined(separator: "; "))
        response.headers.append("x-content-type-options", "nosniff")
        response.headers.append("referrer-policy", "no-referrer")
        response.headers.append("cross-origin-opener-policy", "same-origin")
        return .response(response)
    }
}

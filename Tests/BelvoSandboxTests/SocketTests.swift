import HTTP
import JSON
import Synchronization
import Testing
import Transport

@testable import BelvoSandbox

/// The sandbox over real sockets.
@Suite struct SocketTests {
    @Test(
        arguments: [
            (nil, false), (.dropRequest, true), (.dropAnswer, true), (.truncated(60), true), (.garbage, true),
            (.contentLength(offBy: 10), true), (.garbageBody, false), (.delayAnswer(.milliseconds(1)), false),
        ] as [(Fault?, Bool)])
    func `a caller loses the answer exactly where the fault takes it`(_ fault: Fault?, _ isLost: Bool) async throws {
        let merchant = Merchant()
        if let fault { merchant.sandbox.next(fault, on: .listInstitutions) }
        let request = Request(
            .get, "/payments/br/institutions/", headers: Headers(["authorization": Merchant.authorization]))
        try await serving(merchant.sandbox) { client in
            do throws(ClientError) {
                let response = try await client.send(request, deadline: .seconds(5))
                #expect(!isLost && response.status == .ok)
            } catch {
                guard case .answerLost = error, isLost else {
                    Issue.record("\(error)")
                    return
                }
            }
            // The fault was for one call.
            let next = try await client.send(request, deadline: .seconds(5))
            #expect(next.status == .ok)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a webhook arrives over HTTP with its token`() async throws {
        let (received, continuation) = AsyncStream<Request>.makeStream()
        try await onLoop { loop in
            let listener = try Listener(at: try #require(SocketAddress(parsing: "127.0.0.1:0")))
            let receiver = Server(refusal: { Response($0.status) }) { request, _ in
                continuation.yield(request)
                return .response(Response(.ok))
            }
            try await receiver.listen(to: listener, on: [loop])
            let url = try #require(URL("http://\(listener.address)/webhooks/belvo?a=1"))
            let subscription = try WebhookSubscription.overHTTP(to: url, token: "token-1")
            let merchant = Merchant { $0.webhookSubscriptions = [subscription] }
            let (id, _) = try await merchant.redirectedEnrollment()
            try merchant.sandbox.fail(enrollment: id)
            await merchant.sandbox.runDue()
            #expect(merchant.sandbox.withState { $0.outbox.webhooks.all.map(\.state) } == [.delivered])
            await receiver.drain(loops: [loop], within: .seconds(1))
        }
        var requests = received.makeAsyncIterator()
        let request = await requests.next()
        #expect(request?.target == "/webhooks/belvo?a=1")
        #expect(request?.headers["authorization"] == "Bearer token-1")
    }

    /// Serves while the body runs, and checks that serving ends after it.
    private func serving(
        _ sandbox: Sandbox, _ body: @escaping @Sendable (Client) async throws -> Void
    ) async throws {
        try await onLoop { loop in
            let listener = try Listener(at: try #require(SocketAddress(parsing: "127.0.0.1:0")))
            let server = SandboxServer(sandbox: sandbox, listener: listener, tls: nil)
            let (stops, stop) = AsyncStream<Void>.makeStream()
            async let serving: Void = server.run(on: loop) { for await _ in stops {} }
            let client = Client(origin: try #require(URL("http://\(listener.address)/")).origin)
            let outcome = await loop.task { try await body(client) }.result
            stop.finish()
            try await serving
            await client.closeIdle(on: loop)
            try outcome.get()
        }
    }

    /// Runs the body on a loop with a thread of its own, and ends both.
    private func onLoop(_ body: @escaping @Sendable (EventLoop) async throws -> Void) async throws {
        let loop = try EventLoop()
        let thread = try LoopThread.start(loop, name: "sandbox-test")
        let outcome = await loop.task { try await body(loop) }.result
        loop.stop()
        await BlockingThreads.shared.run { thread.join() }
        try outcome.get()
    }
}

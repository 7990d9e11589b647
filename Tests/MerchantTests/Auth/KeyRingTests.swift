import Crypto
import FoundationEssentials
import HTTP
import Payments
import Synchronization
import TestSupport
import Testing
import Transport

@testable import MerchantAuth

/// New keys are looked for when they are due and when a token asks for one, and no more often.
struct KeyRingTests {
    private static let claims = #"{"sub":"ana","exp":1800000600}"#

    private let newKey = P256.Signing.PrivateKey()
    private var both: String {
        Keys.keySet(Keys.record(Keys.p256.publicKey, kid: "old"), Keys.record(newKey.publicKey, kid: "new"))
    }
    private let old = Keys.keySet(Keys.record(Keys.p256.publicKey, kid: "old"))

    @Test func `a key that a token names is fetched, at most every thirty seconds`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(old)
        let (oldToken, newToken) = try tokens()
        #expect(await harness.refusal(oldToken) == nil)
        #expect(await harness.refusal(newToken) == .unknownKey)
        #expect(harness.address.fetches == 1)
        harness.address.serve(both)
        harness.clock.advance(by: .milliseconds(29_999))
        #expect(await harness.refusal(newToken) == .unknownKey)
        #expect(harness.address.fetches == 1)
        harness.clock.advance(by: .milliseconds(1))
        #expect(await harness.refusal(newToken) == nil)
        #expect(await harness.refusal(oldToken) == nil)
        #expect(harness.address.fetches == 2)
    }

    @Test func `what cannot be the source's fault asks nobody`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(old)
        let (oldToken, _) = try tokens()
        #expect(await harness.refusal(oldToken) == nil)
        harness.clock.advance(by: .seconds(3_600))
        for token in ["a.b.c", oldToken.dropLast(4) + "AAAA"] {
            #expect(await harness.refusal(String(token)) != nil)
        }
        #expect(harness.address.fetches == 1)
    }

    @Test(arguments: [nil, "", "<html>", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"old"}]}"#])
    func `old keys go on while new ones cannot be had`(answer: String?) async throws {
        let harness = try AuthenticatorHarness.withKeySet(old)
        let (oldToken, newToken) = try tokens()
        #expect(await harness.refusal(oldToken) == nil)
        harness.address.serve(answer)
        harness.clock.advance(by: .seconds(60))
        #expect(await harness.refusal(newToken) == .unknownKey)
        await #expect(throws: KeySetFault.self) { try await harness.authenticator.loadKeys() }
        #expect(harness.address.fetches == 3)
        #expect(await harness.refusal(oldToken) == nil)
        let another = try TokenForge.es256(Keys.p256).token(kid: "old", claims: #"{"sub":"eva","exp":1800000600}"#)
        #expect(await harness.refusal(another) == nil)
    }

    @Test func `a token of a key that was withdrawn is refused, though it was known`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(old)
        let (oldToken, newToken) = try tokens()
        #expect(await harness.refusal(oldToken) == nil)
        harness.address.serve(Keys.keySet(Keys.record(newKey.publicKey, kid: "new")))
        harness.clock.advance(by: .seconds(30))
        #expect(await harness.refusal(newToken) == nil)
        #expect(await harness.refusal(oldToken) == .unknownKey)
    }

    @Test func `without any key nobody is refused for his token, and keys are looked for soon`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(old)
        let (oldToken, _) = try tokens()
        harness.address.serve(nil)
        #expect(await harness.refusal(oldToken) == .keysUnavailable)
        #expect(!harness.authenticator.hasKeys)
        harness.address.serve(old)
        #expect(await harness.refusal(oldToken) == .keysUnavailable)
        harness.clock.advance(by: KeyRing.pauseWithoutKeys)
        #expect(await harness.refusal(oldToken) == nil)
        #expect(harness.authenticator.hasKeys)
        #expect(harness.address.fetches == 2)
    }

    @Test func `however many need a key at once, it is fetched once`() async throws {
        let url = try #require(URL("https://login.shop.example/jwks.json"))
        let (asked, asks) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let document = old
        let clock = StoppedClock()
        let authenticator = Authenticator(
            TokenRules(keys: .jwksURL(url)), now: clock.now,
            dependencies: AuthenticatorDependencies(
                fetch: {
                    asks.yield()
                    await gate.pass()
                    return Array(document.utf8)
                }, monotonic: clock.monotonic))
        let (oldToken, _) = try tokens()
        try await withThrowingTaskGroup(of: UserSubject.self) { group in
            for _ in 0..<50 { group.addTask { try await authenticator.authenticate(["Bearer \(oldToken)"]) } }
            var iterator = asked.makeAsyncIterator()
            await iterator.next()
            gate.open()
            for try await user in group { #expect(user.text == "ana") }
        }
        asks.finish()
        #expect(await asked.reduce(0) { count, _ in count + 1 } == 0)
    }

    @Test(.timeLimit(.minutes(1))) func `few wait for a key that is not known, and nobody whose key is`() async throws {
        let url = try #require(URL("https://login.shop.example/jwks.json"))
        let (gate, isSlow, turnedAway) = (Gate(), Box(false), Box(0))
        let document = old
        let clock = StoppedClock()
        let authenticator = Authenticator(
            TokenRules(keys: .jwksURL(url)), now: clock.now,
            dependencies: AuthenticatorDependencies(
                fetch: {
                    if isSlow.value { await gate.pass() }
                    return Array(document.utf8)
                }, monotonic: clock.monotonic))
        let (oldToken, newToken) = try tokens()
        try await authenticator.loadKeys()
        isSlow.update { $0 = true }
        clock.advance(by: .seconds(30))
        let faults = await withTaskGroup(of: AuthenticationFault?.self) { group in
            for _ in 0..<KeyRing.tokensWaitingMax + 20 {
                group.addTask {
                    do throws(AuthenticationFault) {
                        _ = try await authenticator.authenticate(["Bearer \(newToken)"])
                        return nil
                    } catch {
                        turnedAway.update { $0 += 1 }
                        return error
                    }
                }
            }
            // Those that do not wait.
            while turnedAway.value < 20 { await Task.yield() }
            #expect((try? await authenticator.authenticate(["Bearer \(oldToken)"]))?.text == "ana")
            #expect(turnedAway.value == 20)
            gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(faults.count { $0 == .keysUnavailable } == 20)
        #expect(faults.count { $0 == .unknownKey } == KeyRing.tokensWaitingMax)
    }

    @Test func `keys are read again every five minutes, sooner after a failure, and soonest when there are none`()
        async throws
    {
        let address = KeySetAddress(nil)
        let events = Mutex<[AuthenticatorEvent]>([])
        let url = try #require(URL("https://login.shop.example/jwks.json"))
        let pauses = PauseRecorder(address: address, answers: [nil, old, old, nil, both])
        let authenticator = Authenticator(
            TokenRules(keys: .jwksURL(url)), now: StoppedClock().now,
            dependencies: AuthenticatorDependencies(
                fetch: address.fetch, sleep: pauses.sleep, onEvent: { event in events.withLock { $0.append(event) } }))
        // The recorder ends the loop as cancelling its task would, once its answers are used up.
        await authenticator.run()
        #expect(
            pauses.all == [.seconds(2), .seconds(2), .seconds(300), .seconds(300), .seconds(30), .seconds(300)])
        let fault = KeySetFault.unreachable("connect: Connection refused")
        #expect(
            events.withLock { $0 } == [
                .keysNotRead(fault), .keysNotRead(fault), .keysChanged(usable: 1, ignored: 0), .keysNotRead(fault),
                .keysChanged(usable: 2, ignored: 0),
            ])
    }

    @Test func `a file is read again when it changes`() async throws {
        let file = try TemporaryFile(old)
        let pauses = PauseRecorder()
        let clock = StoppedClock()
        let authenticator = Authenticator(
            TokenRules(keys: .jwksFile(file.path)), now: clock.now,
            dependencies: AuthenticatorDependencies(sleep: pauses.sleep, monotonic: clock.monotonic))
        let (oldToken, newToken) = try tokens()
        #expect(try await authenticator.authenticate(["Bearer \(oldToken)"]).text == "ana")
        await #expect(throws: AuthenticationFault.unknownKey) {
            try await authenticator.authenticate(["Bearer \(newToken)"])
        }
        try file.write(both)
        try await authenticator.loadKeys()
        #expect(try await authenticator.authenticate(["Bearer \(newToken)"]).text == "ana")
        file.remove()
        await #expect(throws: KeySetFault.unreachable("open: No such file or directory")) {
            try await authenticator.loadKeys()
        }
        #expect(try await authenticator.authenticate(["Bearer \(newToken)"]).text == "ana")
        await authenticator.run()
        #expect(pauses.all == [.seconds(10)])
    }

    @Test func `with a secret the task goes on until it is cancelled`() async throws {
        let secret = try #require(SharedSecret(Keys.secret))
        let authenticator = Authenticator(TokenRules(keys: .hs256(secret)), now: StoppedClock().now)
        let task = Task { await authenticator.run() }
        task.cancel()
        await task.value
    }

    private func tokens() throws -> (old: String, new: String) {
        (
            try TokenForge.es256(Keys.p256).token(kid: "old", claims: Self.claims),
            try TokenForge.es256(newKey).token(kid: "new", claims: Self.claims)
        )
    }
}

/// A sleep that takes no time, notes how long it was to be, and lets the source answer differently after each.
private final class PauseRecorder: Sendable {
    private struct State {
        var all: [Duration] = []
        var answers: [String?]
    }

    private let address: KeySetAddress?
    private let state: Mutex<State>

    /// Ends with `CancellationError` when there are no answers left.
    init(address: KeySetAddress? = nil, answers: [String?] = []) {
        self.address = address
        state = Mutex(State(answers: answers))
    }

    var all: [Duration] { state.withLock { $0.all } }

    @Sendable func sleep(_ duration: Duration) throws {
        let answer = try state.withLock { state in
            state.all.append(duration)
            guard !state.answers.isEmpty else { throw CancellationError() }
            return state.answers.removeFirst()
        }
        address?.serve(answer)
    }
}

/// A gate at which callers wait until it is opened.
private final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

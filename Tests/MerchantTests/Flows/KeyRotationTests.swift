import Crypto
import CryptoExtras
import HTTP
import Testing

@testable import MerchantAuth
@testable import MerchantServer

/// The keys that tokens are checked with come from an address or a file, and change while the server runs.
@Suite struct KeyRotationTests {
    private static let claims: Claims = ["sub": #""ana""#, "exp": "\(Claims.now + 3_600)"]

    /// Where a key set may be, and how long the server takes to look again by itself.
    enum Source: CaseIterable {
        case address, file

        var pause: Duration { self == .address ? KeyRing.pauseOfURL : KeyRing.pauseOfFile }
    }

    @Test(arguments: Source.allCases)
    func `every kind of key is known from the start`(source: Source) async throws {
        try await Self.play(source, try Keys.document()) { harness, keys, _ in
            for token in try Signer.all.map({ try $0.token(Self.claims) }) {
                #expect(try await harness.list(with: token).status == 200)
            }
            #expect(try await App(client: harness.client, token: nil).send(.get, "/readyz").status == 200)
            #expect(keys.fetches == (source == .address ? 1 : 0))
        }
    }

    @Test(arguments: Source.allCases)
    func `without keys the server runs, says what is missing, and serves as soon as it finds some`(
        source: Source
    ) async throws {
        try await Self.play(source, nil) { harness, keys, clock in
            let (anybody, operators) = (
                App(client: harness.client, token: nil), App(client: harness.admin, token: nil)
            )
            #expect(try await anybody.send(.get, "/livez").status == 200)
            #expect(try await anybody.send(.get, "/readyz").status == 503)
            let missing = #"{"status":"unavailable","missing":["keys"],"warnings":[]}"#
            #expect(try await operators.send(.get, "/readyz").text == missing)
            let token = try Signer.all[0].token(Self.claims)
            let refused = try await harness.list(with: token)
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "keys_unavailable")
            #expect(refused.response.headers["retry-after"] == "2")
            #expect(harness.log.holds("auth.keys_not_read"))
            // It is read without a request.
            try keys.serve(Keys.document())
            await clock.pass(KeyRing.pauseWithoutKeys)
            #expect(try await anybody.send(.get, "/readyz").status == 200)
            #expect(harness.log.holds("auth.keys_changed"))
            #expect(try await harness.list(with: token).status == 200)
        }
    }

    @Test(arguments: Source.allCases, Signer.all)
    func `a key that is added works as soon as a token names it, and one that is removed no more`(
        source: Source, signer: Signer
    ) async throws {
        // The key of another kind stays all the time.
        let other = try #require(Signer.all.first { $0.keyName != signer.keyName })
        try await Self.play(source, Keys.keySet(try other.record())) { harness, keys, clock in
            let (token, stays) = (try signer.token(Self.claims), try other.token(Self.claims))
            #expect(try await harness.list(with: stays).status == 200)
            let unknown = try await harness.list(with: token)
            #expect(unknown.status == 401)
            #expect(unknown.response.headers["www-authenticate"]?.contains("the token's key is not known") == true)

            try keys.serve(Keys.keySet(signer.record(), other.record()))
            if source == .address {
                let fetches = keys.fetches
                #expect(try await harness.list(with: token).status == 401)
                #expect(keys.fetches == fetches)
                clock.advance(by: KeyRing.pauseOnDemand)
                #expect(try await harness.list(with: token).status == 200)
                #expect(keys.fetches == fetches + 1)
            } else {
                await clock.pass(source.pause)
                #expect(try await harness.list(with: token).status == 200)
            }
            #expect(try await harness.list(with: stays).status == 200)

            try keys.serve(Keys.keySet(other.record()))
            // It was found good a moment ago, and is remembered.
            #expect(try await harness.list(with: token).status == 200)
            await clock.pass(source.pause)
            #expect(try await harness.list(with: token).status == 401)
            #expect(try await harness.list(with: stays).status == 200)
        }
    }

    @Test(arguments: Source.allCases)
    func `while no key set can be had the old keys go on`(source: Source) async throws {
        try await Self.play(source, try Keys.document()) { harness, keys, clock in
            let token = try Signer.all[0].token(Self.claims)
            #expect(try await harness.list(with: token).status == 200)
            for document in [nil, "<html>", #"{"keys":[]}"#] as [String?] {
                try keys.serve(document)
                await clock.pass(KeyRing.pauseOfURL)
                #expect(try await harness.list(with: token).status == 200)
                // Also one that was never seen before: no two signatures of PS256 are alike.
                #expect(try await harness.list(with: Signer.all[1].token(Self.claims)).status == 200)
                #expect(try await App(client: harness.client, token: nil).send(.get, "/readyz").status == 200)
            }
            #expect(harness.log.holds("auth.keys_not_read"))
        }
    }

    @Test func `strangers' tokens do not become requests to whoever serves the keys`() async throws {
        try await Self.play(.address, try Keys.document()) { harness, keys, clock in
            #expect(try await harness.list(with: Signer.all[0].token(Self.claims)).status == 200)
            clock.advance(by: KeyRing.pauseOnDemand)
            for number in 0..<50 {
                let token = try TokenForge.es256(Keys.p256).token(kid: "\(number)", Self.claims)
                #expect(try await harness.list(with: token).status == 401)
            }
            #expect(keys.fetches == 2)
        }
    }

    /// Plays on a harness whose server works by itself and finds its keys at the source, or nothing of use.
    private static func play(
        _ source: Source, _ document: String?,
        _ body: @escaping @Sendable (TestHarness, KeySource, HandClock) async throws -> Void
    ) async throws {
        let clock = HandClock()
        switch source {
        case .address:
            try await KeySetServer.serving(document) { server in
                try await TestHarness.open(
                    environment: ["AUTH_JWKS_URL": server.url], clock: clock.intervals, work: .byItself
                ) { try await body($0, KeySource(server: server), clock) }
            }
        case .file:
            let file = try TemporaryFile(document ?? "")
            try await TestHarness.open(
                environment: ["AUTH_JWKS_FILE": file.path], clock: clock.intervals, work: .byItself
            ) { try await body($0, KeySource(file: file), clock) }
        }
    }
}

/// The one or the other place of a key set.
struct KeySource: Sendable {
    private let server: KeySetServer?
    private let file: TemporaryFile?

    init(server: KeySetServer? = nil, file: TemporaryFile? = nil) {
        self.server = server
        self.file = file
    }

    var fetches: Int { server?.fetches ?? 0 }

    /// The key set that is served from now on; while it is nil, nothing that can be read.
    func serve(_ document: String?) throws {
        server?.serve(document)
        try file?.write(document ?? "")
    }
}

/// A signer of tokens with one algorithm.
struct Signer: Sendable, CustomTestStringConvertible {
    let algorithm: String
    /// Its key's id in `Keys.document()`.
    let keyName: String

    static let all = [
        Signer(algorithm: "RS256", keyName: "rsa"), Signer(algorithm: "PS256", keyName: "rsa"),
        Signer(algorithm: "ES256", keyName: "p256"), Signer(algorithm: "EdDSA", keyName: "ed25519"),
    ]

    var testDescription: String { algorithm }

    func token(_ claims: Claims) throws -> String {
        let forge =
            switch algorithm {
            case "RS256": TokenForge.rs256(try Keys.rsa.get())
            case "PS256": TokenForge.ps256(try Keys.rsa.get())
            case "ES256": TokenForge.es256(Keys.p256)
            default: TokenForge.edDSA(Keys.ed25519)
            }
        return try forge.token(kid: keyName, claims)
    }

    /// The key as a key set shows it.
    func record() throws -> String {
        switch keyName {
        case "rsa": try Keys.record(try Keys.rsa.get().publicKey, kid: keyName)
        case "p256": Keys.record(Keys.p256.publicKey, kid: keyName)
        default: Keys.record(Keys.ed25519.publicKey, kid: keyName)
        }
    }
}

extension TestHarness {
    /// A request that any user may make.
    fileprivate func list(with token: String) async throws -> Answer {
        try await App(client: client, token: token).send(.get, "/v1/enrollments")
    }
}

import Crypto
import FoundationEssentials
import Payments
import Testing

@testable import MerchantAuth

/// Every bad token is refused, for its own reason, whichever way it is bad.
struct BadTokenTests {
    private static let now = StoppedClock.start
    private static let good = #"{"sub":"ana","exp":\#(now + 600)}"#

    @Test(
        arguments: [
            ([], .missing),
            ([""], .notBearer),
            (["Bearer"], .missing),
            (["Bearer "], .missing),
            (["bearer    "], .missing),
            (["Basic YTpi"], .notBearer),
            (["Bearerx a.b.c"], .notBearer),
            (["Token a.b.c"], .notBearer),
            (["\u{212A}earer a.b.c"], .notBearer),
            (["Bearer a.b.c", "Bearer a.b.c"], .repeated),
            (["Bearer a.b.c", ""], .repeated),
            (["Bearer " + String(repeating: "a", count: 8193)], .tooLong),
            (["Bearer " + String(repeating: "a", count: 8192)], .malformed),
            (["Bearer a"], .malformed),
            (["Bearer a.b"], .malformed),
            (["Bearer .."], .malformed),
            (["Bearer a.b.c.d"], .malformed),
            (["Bearer a.b.c.d.e"], .malformed),
        ] as [([String], AuthenticationFault)])
    func `what is not one bearer token of bounded length is refused`(
        values: [String], fault: AuthenticationFault
    ) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        await #expect(throws: fault) { try await harness.authenticator.authenticate(values) }
    }

    @Test(arguments: ["Bearer ", "bearer ", "BEARER ", "bEaReR   "])
    func `the scheme's case and the blanks behind it do not matter`(scheme: String) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: Self.good)
        #expect(try await harness.authenticator.authenticate([scheme + token]).text == "ana")
    }

    @Test(
        arguments: [
            ("", "=", .malformed), ("", ".", .malformed), ("", " ", .malformed), ("", " x", .malformed),
            ("", ",Bearer x", .malformed), ("", "\u{0}", .malformed), ("", "\n", .malformed), ("", "é", .malformed),
            ("=", "", .malformed), (".", "", .malformed), ("", "AAAA", .badSignature),
        ] as [(String, String, AuthenticationFault)])
    func `bytes put behind or before a good token spoil it`(
        before: String, behind: String, fault: AuthenticationFault
    ) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: Self.good)
        #expect(await harness.refusal(token) == nil)
        #expect(await harness.refusal(before + token + behind) == fault)
    }

    @Test func `a token that lost a part of itself is refused`() async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: Self.good)
        let parts = token.split(separator: ".").map(String.init)
        #expect(await harness.refusal(String(token.dropLast(3))) == .badSignature)
        #expect(await harness.refusal(parts[0] + "." + parts[1] + ".") == .badSignature)
        #expect(await harness.refusal(parts[0] + ".." + parts[2]) == .badSignature)
        #expect(await harness.refusal("." + parts[1] + "." + parts[2]) == .malformed)
        #expect(await harness.refusal(parts[0] + "." + parts[1]) == .malformed)
        #expect(await harness.refusal(parts[0] + ".=." + parts[2]) == .malformed)
    }

    @Test func `the spare bits at a part's end have one spelling`() async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: Self.good)
        // 32 bytes leave two bits over: the last of 43 characters stands for one of 16 values, four of them alike.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(token.last.flatMap { alphabet.firstIndex(of: $0) })
        for other in last + 1..<last + 4 {
            #expect(await harness.refusal(token.dropLast() + String(alphabet[other])) == .malformed)
        }
    }

    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"NONE"}"#, #"{"alg":""}"#, #"{"alg":"hs256"}"#,
        #"{"alg":"HS384"}"#, #"{"alg":"HS512"}"#, #"{"alg":"RS256"}"#, #"{"alg":"ES256"}"#, #"{"alg":"EdDSA"}"#,
        #"{"alg":"dir"}"#,
    ])
    func `where a secret is shared no other algorithm than HS256 is taken, signed or not`(header: String) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        for forge in [TokenForge.hs256(Array(Keys.secret.utf8)), .unsigned] {
            #expect(await harness.refusal(try forge.token(header: header, claims: Self.good)) == .algorithmNotAllowed)
        }
    }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"typ":"JWT"}"#, #"{"alg":null}"#, #"{"alg":256}"#, #"{"alg":["HS256"]}"#,
        #"{"alg":"HS256","alg":"none"}"#, #"{"alg":"HS256","kid":7}"#, #"{"alg":"HS256","kid":null}"#,
        #"{"alg":"HS256","crit":["exp"],"exp":1}"#, #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256"}x"#,
        #"{"alg":"HS256""#, "{\"alg\":\"HS256\",\"x\":\"\u{0}\"}", #"{"alg":"HS256",}"#,
        String(repeating: "[", count: 3000),
    ])
    func `a header that is no object with one algorithm, or asks for more, is refused`(header: String) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(header: header, claims: Self.good)
        #expect(await harness.refusal(token) == .malformed)
    }

    @Test(
        arguments: [
            ("", .malformed),
            ("null", .malformed),
            (#"["sub","exp"]"#, .malformed),
            (#"{"sub":"ana","exp":1800000600,"sub":"eva"}"#, .malformed),
            (#"{"sub":"ana"}"#, .noExpiry),
            (#"{"sub":"ana","exp":null}"#, .noExpiry),
            (#"{"sub":"ana","exp":"1800000600"}"#, .noExpiry),
            (#"{"sub":"ana","exp":true}"#, .noExpiry),
            (#"{"sub":"ana","exp":1e400}"#, .noExpiry),
            (#"{"sub":"ana","exp":NaN}"#, .malformed),
            (#"{"sub":"ana","exp":0}"#, .expired),
            (#"{"sub":"ana","exp":-1}"#, .expired),
            (#"{"sub":"ana","exp":-1e300}"#, .expired),
            (#"{"sub":"ana","exp":1799999970}"#, .expired),
            (#"{"sub":"ana","exp":1800000600,"nbf":1800000031}"#, .notYetValid),
            (#"{"sub":"ana","exp":1800000600,"nbf":1e300}"#, .expired),
            (#"{"sub":"ana","exp":1800000600,"nbf":1800000900}"#, .expired),
            (#"{"sub":"ana","exp":1800000600,"nbf":"now"}"#, .malformed),
            (#"{"exp":1800000600}"#, .noSubject),
            (#"{"sub":null,"exp":1800000600}"#, .noSubject),
            (#"{"sub":7,"exp":1800000600}"#, .noSubject),
            (#"{"sub":"","exp":1800000600}"#, .noSubject),
            (#"{"sub":"  ","exp":1800000600}"#, .noSubject),
            (#"{"sub":"a\nb","exp":1800000600}"#, .noSubject),
            (#"{"sub":"\#(String(repeating: "a", count: 129))","exp":1800000600}"#, .noSubject),
        ] as [(String, AuthenticationFault)])
    func `claims without a subject, an expiry or in the wrong time are refused`(
        claims: String, fault: AuthenticationFault
    ) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: claims)
        #expect(await harness.refusal(token) == fault)
    }

    @Test(arguments: [
        #"{"sub":"ana","exp":1799999971}"#, #"{"sub":"ana","exp":1.7999999705e9}"#,
        #"{"sub":"ana","exp":1e300}"#, #"{"sub":"ana","exp":1800000600,"nbf":1800000030}"#,
        #"{"sub":"ana","exp":1800000600,"nbf":-1e300}"#, #"{"sub":"ana","exp":1800000600.25,"iat":9999999999}"#,
        #"{"sub":"ana","exp":1800000600,"aud":"whoever","iss":"whoever","more":{"a":[1]}}"#,
    ])
    func `thirty seconds of leeway are given on both sides, and no more is asked`(claims: String) async throws {
        let harness = try AuthenticatorHarness.withSecret()
        #expect(try await harness.user(try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: claims)) == "ana")
    }

    @Test(
        arguments: [
            (#""iss":"https://login.shop.example","aud":"merchant""#, nil),
            (#""iss":"https://login.shop.example","aud":["other","merchant"]"#, nil),
            (#""aud":"merchant""#, .wrongIssuer),
            (#""iss":null,"aud":"merchant""#, .wrongIssuer),
            (#""iss":"https://login.shop.example/","aud":"merchant""#, .wrongIssuer),
            (#""iss":["https://login.shop.example"],"aud":"merchant""#, .wrongIssuer),
            (#""iss":"https://login.shop.example""#, .wrongAudience),
            (#""iss":"https://login.shop.example","aud":"Merchant""#, .wrongAudience),
            (#""iss":"https://login.shop.example","aud":[]"#, .wrongAudience),
            (#""iss":"https://login.shop.example","aud":["merchants",null]"#, .wrongAudience),
            (#""iss":"https://login.shop.example","aud":{"merchant":1}"#, .wrongAudience),
            (#""iss":"https://login.shop.example","aud":"merchant\u0301""#, .wrongAudience),
        ] as [(String, AuthenticationFault?)])
    func `issuer and audience are compared where they are configured`(
        claims: String, fault: AuthenticationFault?
    ) async throws {
        let harness = try AuthenticatorHarness.withSecret(issuer: "https://login.shop.example", audience: "merchant")
        let token = try TokenForge.hs256(Array(Keys.secret.utf8))
            .token(claims: #"{"sub":"ana","exp":1800000600,\#(claims)}"#)
        #expect(await harness.refusal(token) == fault)
    }

    @Test func `a wrong signature is told before anything that the token claims`() async throws {
        let harness = try AuthenticatorHarness.withSecret(issuer: "https://login.shop.example")
        let forge = TokenForge.hs256(Array("another secret of more than thirty-two bytes".utf8))
        for claims in [Self.good, #"{"sub":"ana","exp":1}"#, "not even JSON"] {
            #expect(await harness.refusal(try forge.token(claims: claims)) == .badSignature)
        }
    }

    @Test func `no reason holds a byte of the token, and every challenge can stand in a header`() {
        for fault in AuthenticationFault.allCases {
            #expect(!fault.publicReason.isEmpty && fault.publicReason.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
            #expect(fault.challenge.hasPrefix("Bearer realm="))
            #expect(fault.publicReason.utf8.allSatisfy { $0 != UInt8(ascii: "\"") })
        }
        #expect(!AuthenticationFault.missing.challenge.contains("error"))
    }
}

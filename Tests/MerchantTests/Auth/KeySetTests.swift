import Crypto
import CryptoExtras
import FoundationEssentials
import Payments
import Testing

@testable import MerchantAuth

/// Tokens are checked with the keys of a set: each by the key it names, each key by its own algorithm.
struct KeySetTests {
    private static let claims = #"{"sub":"ana","exp":1800000600}"#

    @Test func `a key of each kind checks what its other half signed`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        let tokens = [
            try TokenForge.rs256(Keys.rsa.get()).token(kid: "rsa", claims: Self.claims),
            try TokenForge.ps256(Keys.rsa.get()).token(kid: "rsa", claims: Self.claims),
            try TokenForge.es256(Keys.p256).token(kid: "p256", claims: Self.claims),
            try TokenForge.edDSA(Keys.ed25519).token(kid: "ed25519", claims: Self.claims),
        ]
        for token in tokens { #expect(await harness.refusal(token) == nil) }
        #expect(harness.address.fetches == 1)
    }

    @Test func `a token that names no key is checked with those that its algorithm fits`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        #expect(await harness.refusal(try TokenForge.ps256(Keys.rsa.get()).token(claims: Self.claims)) == nil)
        #expect(await harness.refusal(try TokenForge.es256(Keys.p256).token(claims: Self.claims)) == nil)
        let stranger = TokenForge.es256(P256.Signing.PrivateKey())
        #expect(await harness.refusal(try stranger.token(claims: Self.claims)) == .badSignature)
    }

    /// The public key is public: taken for a secret, it would let any client sign (RFC 8725 §2.1).
    @Test func `HS256 with a public key for its secret is refused`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        let key = try Keys.rsa.get().publicKey
        let spellings = [
            Array(key.pemRepresentation.utf8), Array(key.derRepresentation), Array(key.pkcs1DERRepresentation),
            Array(try key.getKeyPrimitives().modulus), Array(try Keys.record(key, kid: "rsa").utf8),
        ]
        for secret in spellings {
            for kid in ["rsa", nil] {
                let token = try TokenForge.hs256(secret).token(kid: kid, claims: Self.claims)
                #expect(await harness.refusal(token) == .algorithmNotAllowed)
                // The same bytes under an algorithm that the key does have.
                let disguised = try TokenForge.hs256(secret, algorithm: "RS256").token(kid: kid, claims: Self.claims)
                #expect(await harness.refusal(disguised) == .badSignature)
            }
        }
    }

    @Test(arguments: ["none", "None", "HS256", "RS384", "RS512", "PS512", "ES384", "ES512", "ES256K", "RSA-OAEP", ""])
    func `an algorithm that is not allowed is refused, signed or not`(algorithm: String) async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        let header = #"{"alg":"\#(algorithm)","kid":"rsa"}"#
        for forge in [TokenForge.unsigned, TokenForge.rs256(try Keys.rsa.get())] {
            #expect(await harness.refusal(try forge.token(header: header, claims: Self.claims)) == .algorithmNotAllowed)
        }
    }

    @Test func `a key is not used with another kind's algorithm, nor under another key's name`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        let es256 = TokenForge.es256(Keys.p256)
        #expect(await harness.refusal(try es256.token(kid: "rsa", claims: Self.claims)) == .algorithmNotAllowed)
        #expect(await harness.refusal(try es256.token(kid: "ed25519", claims: Self.claims)) == .algorithmNotAllowed)
        let edDSA = TokenForge.edDSA(Curve25519.Signing.PrivateKey())
        #expect(await harness.refusal(try edDSA.token(kid: "ed25519", claims: Self.claims)) == .badSignature)
        let rs256 = TokenForge.rs256(try Keys.rsa.get())
        #expect(await harness.refusal(try rs256.token(kid: "p256", claims: Self.claims)) == .algorithmNotAllowed)
        #expect(await harness.refusal(try rs256.token(kid: "RSA", claims: Self.claims)) == .unknownKey)
        let relabelled = try TokenForge.ps256(Keys.rsa.get()).token(
            header: #"{"alg":"RS256","kid":"rsa"}"#, claims: Self.claims)
        #expect(await harness.refusal(relabelled) == .badSignature)
    }

    @Test func `a key that names its algorithm is used with no other`() async throws {
        let record = try Keys.record(try Keys.rsa.get().publicKey, kid: "rsa", more: #","alg":"PS256""#)
        let harness = try AuthenticatorHarness.withKeySet(Keys.keySet(record))
        let (rs256, ps256) = (TokenForge.rs256(try Keys.rsa.get()), TokenForge.ps256(try Keys.rsa.get()))
        #expect(await harness.refusal(try rs256.token(kid: "rsa", claims: Self.claims)) == .algorithmNotAllowed)
        #expect(await harness.refusal(try ps256.token(kid: "rsa", claims: Self.claims)) == nil)
    }

    /// In JWTKit the first token decided for good with which algorithm such a key was used.
    @Test func `a token with one algorithm does not keep a key from another`() async throws {
        let harness = try AuthenticatorHarness.withKeySet(Keys.document())
        let key = try Keys.rsa.get()
        for _ in 0..<2 {
            #expect(await harness.refusal(try TokenForge.ps256(key).token(kid: "rsa", claims: Self.claims)) == nil)
            #expect(await harness.refusal(try TokenForge.rs256(key).token(kid: "rsa", claims: Self.claims)) == nil)
        }
    }

    @Test func `a key without a name answers to every name that no other key has`() async throws {
        let nameless = Keys.record(Keys.p256.publicKey, kid: nil)
        let other = P256.Signing.PrivateKey()
        let harness = try AuthenticatorHarness.withKeySet(
            Keys.keySet(nameless, Keys.record(other.publicKey, kid: "other")))
        let es256 = TokenForge.es256(Keys.p256)
        #expect(await harness.refusal(try es256.token(kid: "any", claims: Self.claims)) == nil)
        #expect(await harness.refusal(try es256.token(claims: Self.claims)) == nil)
        #expect(await harness.refusal(try es256.token(kid: "other", claims: Self.claims)) == .badSignature)
    }

    @Test func `of many keys that a nameless token fits none is tried`() async throws {
        let records = (0..<5).map { Keys.record(P256.Signing.PrivateKey().publicKey, kid: "\($0)") }
        let document = #"{"keys":[\#(records.joined(separator: ","))]}"#
        let harness = try AuthenticatorHarness.withKeySet(document)
        #expect(await harness.refusal(try TokenForge.es256(Keys.p256).token(claims: Self.claims)) == .unknownKey)
    }

    @Test func `keys that are not for checking signatures are passed over`() async throws {
        let p256 = Keys.p256.publicKey
        let useless = [
            "null", "7", "{}", #"{"kty":"oct","k":"c2VjcmV0","kid":"a"}"#,
            #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA","kid":"b"}"#, #"{"kty":"OKP","crv":"X25519","x":"AA"}"#,
            Keys.record(p256, kid: "enc", more: #","use":"enc""#),
            Keys.record(p256, kid: "use", more: #","use":null"#),
            Keys.record(p256, kid: "ops", more: #","key_ops":["encrypt"]"#),
            Keys.record(p256, kid: "alg", more: #","alg":"ES512""#),
            Keys.record(p256, kid: "none", more: #","alg":"none""#),
            Keys.record(p256, kid: "hs", more: #","alg":"HS256""#),
            #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"short"}"#,
            #"{"kty":"EC","crv":"P-256","x":"\#(Self.ones)","y":"\#(Self.ones)","kid":"off the curve"}"#,
            #"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"tiny"}"#,
            #"{"kty":"RSA","n":"\#(String(repeating: "_", count: 1367))","e":"AQAB","kid":"huge"}"#,
            try Keys.record(try Keys.rsa.get().publicKey, kid: "e").replacing(#""e":"AQAB""#, with: #""e":"AQ""#),
            #"{"kty":"RSA","n":"\#(Self.weakModulus)","e":"AQAB","kid":"1024 bits"}"#,
            Keys.record(p256, kid: nil, more: #","kid":7"#),
        ]
        let document = #"{"keys":[\#(useless.joined(separator: ","))]}"#
        await #expect(throws: KeySetFault.noUsableKey(ignored: useless.count)) {
            try await KeySet(document: Array(document.utf8))
        }
        let good = Keys.record(p256, kid: "good", more: #","use":"sig","key_ops":["verify"],"alg":"ES256""#)
        let keys = try await KeySet(document: Array(#"{"keys":[\#((useless + [good]).joined(separator: ","))]}"#.utf8))
        #expect(keys.count == 1 && keys.ignoredCount == useless.count)
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]"#, "<html>", #"{"keys":[],"keys":[]}"#])
    func `what is no key set is refused`(document: String) async {
        do {
            _ = try await KeySet(document: Array(document.utf8))
            Issue.record("\(document) was taken")
        } catch KeySetFault.notAKeySet {
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func `a set of too many bytes or keys is refused`() async {
        let bytes = [UInt8](repeating: UInt8(ascii: " "), count: KeySet.documentBytesMax + 1)
        await #expect(throws: KeySetFault.tooLarge) { try await KeySet(document: bytes) }
        let record = Keys.record(Keys.ed25519.publicKey, kid: "a")
        let many = #"{"keys":[\#([String](repeating: record, count: KeySet.keysMax + 1).joined(separator: ","))]}"#
        await #expect(throws: KeySetFault.tooLarge) { try await KeySet(document: Array(many.utf8)) }
    }

    private static let ones = base64URL([UInt8](repeating: 1, count: 32))
    private static let weakModulus = base64URL([UInt8](repeating: 0xC1, count: 128))
}

import HTTP
import JSON
import Testing

@testable import BelvoSandbox

/// One thing wrong with a registration, and what the sandbox's log says of it.
struct WrongRegistration: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let remark: String
    let change: @Sendable (inout Device.Registration) -> Void

    static let all = [
        WrongRegistration("another type", WebAuthnFault.type) { $0.type = "webauthn.get" },
        WrongRegistration("another challenge", .challenge) { $0.challenge = "AAAA" },
        WrongRegistration("another relying party", .relyingParty) { $0.relyingParty = "shop.example" },
        WrongRegistration("no user present", .flags) { $0.flags = 0x44 },
        WrongRegistration("no user verified", .flags) { $0.flags = 0x41 },
        WrongRegistration("no credential", .flags) { $0.flags = 0x05 },
        WrongRegistration("a wrong signature", .attestationSignature) { $0.signatureByte = 1 },
        WrongRegistration("an unknown format", .attestationFormat) { $0.format = "android-key" },
        WrongRegistration("a statement where there is none", .attestationFormat) { $0.format = "fido-u2f" },
        WrongRegistration("trailing bytes", .authenticatorData) { $0.tail = [0] },
    ]

    private init(
        _ name: String, _ fault: WebAuthnFault, _ change: @escaping @Sendable (inout Device.Registration) -> Void
    ) {
        testDescription = name
        remark = "\(fault)"
        self.change = change
    }
}

/// One thing wrong with a signature.
struct WrongSignature: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let remark: String
    let change: @Sendable (inout Device.Signature) -> Void

    static let all = [
        WrongSignature("another type", WebAuthnFault.type) { $0.type = "webauthn.create" },
        WrongSignature("another challenge", .challenge) { $0.challenge = "AAAA" },
        WrongSignature("another relying party", .relyingParty) { $0.relyingParty = "shop.example" },
        WrongSignature("no user verified", .flags) { $0.flags = 0x01 },
        WrongSignature("a count that stands still", .signatureCount) { $0.count = 1 },
        WrongSignature("a wrong signature", .signature) { $0.signatureByte = 1 },
        WrongSignature("another credential", .credentialID) { $0.credentialID = [9, 9, 9] },
    ]

    private init(
        _ name: String, _ fault: WebAuthnFault, _ change: @escaping @Sendable (inout Device.Signature) -> Void
    ) {
        testDescription = name
        remark = "\(fault)"
        self.change = change
    }
}

@Suite struct WebAuthnTests {
    @Test(arguments: WrongRegistration.all, Device.Kind.allCases)
    func `a wrong registration is taken and makes the enrollment fail`(
        _ wrong: WrongRegistration, _ kind: Device.Kind
    ) async throws {
        let merchant = Merchant()
        let (id, _) = try await merchant.redirectedEnrollment()
        var registration = Device.Registration(challenge: try await merchant.challenge(id))
        wrong.change(&registration)
        let path = "/payments/br/enrollments/\(id)/"
        let body = Device(kind).confirmation(registration)
        #expect(await merchant.call(.post, "\(path)confirm/", body).status == 204)
        #expect(merchant.sandbox.calls.last?.remark == wrong.remark)
        let read = await merchant.get(path)
        #expect(read.text("status") == "FAILED")
        #expect(read.text("status_reason_code") == "biometric_validation_error")
    }

    @Test(arguments: ["none", "packed"], Device.Kind.allCases)
    func `both attestation formats are accepted, once`(_ format: String, _ kind: Device.Kind) async throws {
        let merchant = Merchant()
        let (id, _) = try await merchant.redirectedEnrollment()
        var registration = Device.Registration(challenge: try await merchant.challenge(id))
        registration.format = format
        let body = Device(kind).confirmation(registration)
        let path = "/payments/br/enrollments/\(id)/confirm/"
        #expect(await merchant.call(.post, path, body).status == 204)
        #expect(await merchant.call(.post, path, body).status == 409)
        try merchant.sandbox.settle(enrollment: id)
        #expect(await merchant.call(.post, path, body).status == 409)
        #expect(merchant.sandbox.status(of: id) == "SUCCEEDED")
    }

    @Test(arguments: [(Challenges.latest, "FAILED"), (.anyIssued, "PENDING")])
    func `an earlier challenge counts only where any does`(_ reading: Challenges, _ status: String) async throws {
        let merchant = Merchant { $0.variants.challenges = reading }
        let (id, _) = try await merchant.redirectedEnrollment()
        let earlier = try await merchant.challenge(id)
        _ = try await merchant.challenge(id)
        let body = Device().confirmation(Device.Registration(challenge: earlier))
        #expect(await merchant.call(.post, "/payments/br/enrollments/\(id)/confirm/", body).status == 204)
        #expect(merchant.sandbox.status(of: id) == status)
    }

    @Test func `a confirmation of the wrong shape is refused and uses nothing up`() async throws {
        let merchant = Merchant()
        let device = Device()
        let (id, _) = try await merchant.redirectedEnrollment()
        var registration = Device.Registration(challenge: try await merchant.challenge(id))
        let path = "/payments/br/enrollments/\(id)/confirm/"
        registration.rawID = [7]
        let differs = await merchant.call(.post, path, device.confirmation(registration))
        #expect(differs.fields == ["confirmation_data.rawId"])
        let empty = await merchant.post(path, #"{"confirmation_data":{"type":"password","response":{}}}"#)
        #expect(
            empty.fields == [
                "confirmation_data.type", "confirmation_data.id", "confirmation_data.rawId",
                "confirmation_data.response.attestationObject", "confirmation_data.response.clientDataJSON",
            ])
        registration.rawID = nil
        #expect(await merchant.call(.post, path, device.confirmation(registration)).status == 204)
        #expect(merchant.sandbox.calls.last?.remark == nil)
    }

    @Test(arguments: WrongSignature.all, Device.Kind.allCases)
    func `a wrong signature is taken and makes the payment fail`(
        _ wrong: WrongSignature, _ kind: Device.Kind
    ) async throws {
        let merchant = Merchant()
        let device = Device(kind)
        let intent = try await merchant.intent(try await merchant.enrolled(device))
        var signature = Device.Signature(challenge: intent.challenge)
        wrong.change(&signature)
        let path = "/payments/br/payment-intents/\(intent.id)/"
        #expect(await merchant.call(.post, "\(path)authorize/", device.authorization(signature)).status == 204)
        #expect(merchant.sandbox.calls.last?.remark == wrong.remark)
        #expect(await merchant.get(path).text("status") == "FAILED")
    }

    @Test func `another device's key does not sign`() async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        let body = Device().authorization(Device.Signature(challenge: intent.challenge))
        let path = "/payments/br/payment-intents/\(intent.id)/authorize/"
        #expect(await merchant.call(.post, path, body).status == 204)
        #expect(merchant.sandbox.status(of: intent.id) == "FAILED")
    }

    @Test func `a key that is no point on the curve verifies nothing`() {
        let key = COSEKey.es256(x: [UInt8](repeating: 1, count: 32), y: [UInt8](repeating: 1, count: 32))
        #expect(!key.verifies(signature: [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01], of: [1, 2, 3]))
    }
}

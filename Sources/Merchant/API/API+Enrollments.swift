import Belvo
import FoundationEssentials
import HTTP
import JSON
import Payments

extension API {
    private var enrollments: EnrollmentJourney { EnrollmentJourney(world: world) }

    /// `POST /v1/enrollments`
    func createEnrollment(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let key = try IdempotencyKey.optional(in: inbound.request)
        let reader = try inbound.json()
        let institution = reader.read("institution") { (value) throws(JSONFault) in
            guard let id = value.string.flatMap({ Belvo.Institution.ID($0) }) else {
                throw JSONFault(
                    code: "malformed", message: "An institution is named by the id in GET /v1/institutions.")
            }
            return id
        }
        let name = reader.optionalText("name", EnrollmentName.init)
        let platform = reader.oneOf("platform", Enrollment.Platform.self)
        let callbackURL = reader.optionalString("callback_url", length: 1...2048)
        let signals = RiskSignals(reader)
        let metadata = reader.metadata()
        guard let institution, let platform, let signals, let deviceID = signals.deviceID,
            let tenure = signals.accountTenure, reader.isFaultless
        else { throw reader.faults }
        let wish = EnrollmentJourney.Wish(
            institution: institution.uuid, platform: platform, name: name,
            callbackURL: try enrollments.callbackURL(callbackURL), riskSignals: signals.raw, deviceID: deviceID,
            accountTenure: tenure, metadata: metadata)
        let pause = pollInterval
        let body = { @Sendable (enrollment: Stored<Enrollment>) in enrollment.json(pollAfter: pause) }
        let request = keyed(
            key, on: .enrollments, of: subject, inbound,
            canonical: wish.canonical(
                riskSignals: canonical(wish.riskSignals.bytes), metadata: canonical(wish.metadata?.json)),
            body: body)
        let creation = try await enrollments.create(
            wish, for: subject, as: request, offered: institutions.offered, on: occasion(inbound))
        return answer(creation, body: body)
    }

    /// `GET /v1/enrollments?device_id=&status=&belvo_id=`
    func listEnrollments(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let query = try inbound.query(["device_id", "status", "belvo_id", "limit", "cursor"])
        let belvoID = try query["belvo_id"].map { text in
            guard let id = Belvo.Enrollment.ID(text) else {
                throw APIError.invalid("?belvo_id", "malformed", "This has to be a UUID.")
            }
            return id.uuid
        }
        let device = query["device_id"] ?? inbound.request.headers["x-device-id"]
        let limit = try query.limit()
        let found = try await world.store.enrollments(
            of: subject,
            where: Store.EnrollmentFilter(deviceID: device, status: try query.status(), belvoID: belvoID),
            before: try query.cursor(), limit: limit + 1)
        return page(found, limit: limit, id: \.id.uuid) { $0.write(to: &$1, pollAfter: pollInterval) }
    }

    /// `GET /v1/enrollments/{id}`
    func getEnrollment(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await look(at: .enrollment(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/enrollments/complete-redirection`
    func completeRedirection(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let redirection = Redirection(reader)
        guard let redirection, reader.isFaultless else { throw reader.faults }
        let result = try await RedirectionJourney(world: world).receive(
            redirection, from: subject, on: occasion(inbound))
        switch result {
        case .settled(let enrollment): return resource(.ok, enrollment.json(pollAfter: pollInterval))
        case .pending(let enrollment?): return resource(.accepted, enrollment.json(pollAfter: pollInterval))
        case .pending(nil): return json(.accepted, pollOnly)
        }
    }

    /// `GET /v1/enrollments/{id}/fido-registration-options`
    func getRegistrationOptions(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await look(at: .registrationOptions(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/enrollments/{id}/confirm`
    func confirmEnrollment(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let confirmation = Credential(reader, "confirmation_data", parts: ["attestationObject", "clientDataJSON"])
        guard let confirmation, let clientData = confirmation.clientData, reader.isFaultless else {
            throw reader.faults
        }
        let progress = try await enrollments.confirm(
            inbound.id(), of: subject, with: RawJSON(confirmation.value),
            digest: digest(confirmation.value, for: .confirmation), clientData: clientData, on: occasion(inbound))
        switch progress {
        case .done: return Response(.noContent)
        case .pending(let enrollment): return resource(.accepted, enrollment.json(pollAfter: pollInterval))
        }
    }

    /// Where there is nothing to show yet.
    var pollOnly: [UInt8] {
        JSONWriter.object { NextAction.poll(after: pollInterval).write(to: &$0) }
    }
}

extension EnrollmentJourney.Wish {
    /// The wish in one spelling, however the app spelled it.
    fileprivate func canonical(riskSignals: [UInt8]?, metadata: [UInt8]?) -> [UInt8] {
        JSONWriter.object { text in
            text.member("institution", institution.uuidString)
            text.member("platform", platform.rawValue)
            text.member("name", name?.text)
            text.member("callback_url", callbackURL)
            text.memberRaw("risk_signals", json: riskSignals)
            text.memberRaw("metadata", json: metadata)
        }
    }
}

/// What the phone's SDK collected about itself: checked for size and shape, and passed on as it came
/// (belvo-api.md §7).
struct RiskSignals {
    /// Enough for every member that Open Finance knows, several times over.
    static let bytesMax = 16_384

    let raw: RawJSON
    let deviceID: String?
    let accountTenure: AccountTenure?

    /// Reads the member `risk_signals`, leaving faults with the reader.
    init?(_ reader: JSONReader) {
        guard let value = reader.value("risk_signals"), let signals = reader.object("risk_signals") else { return nil }
        if value.raw.count > RiskSignals.bytesMax {
            reader.refuse(
                "risk_signals", code: "too_large", "Risk signals have at most \(RiskSignals.bytesMax) bytes.")
        }
        signals.ignoreRest()
        deviceID = signals.string("deviceId", length: 1...512)
        _ = signals.string("osVersion", length: 1...100)
        _ = signals.string("userTimeZoneOffset", length: 1...10)
        _ = signals.string("language", length: 1...10)
        _ = signals.object("screenDimensions").map { $0.ignoreRest() }
        accountTenure = signals.read("accountTenure") { (value) throws(JSONFault) in
            guard let tenure = value.string.flatMap({ AccountTenure($0) }) else {
                throw JSONFault(code: "malformed", message: "The account tenure is a day: YYYY-MM-DD.")
            }
            return tenure
        }
        raw = RawJSON(value)
    }
}

/// What an authenticator made: a registration or a signature, passed on as it came (belvo-api.md §4.6, §6.2).
struct Credential {
    let value: JSONValue
    let clientData: String?

    /// Reads a member with these texts in its `response`, leaving faults with the reader.
    init?(_ reader: JSONReader, _ name: String, parts: [String]) {
        guard let value = reader.value(name), let credential = reader.object(name) else { return nil }
        credential.ignoreRest()
        if let attachment = credential.string("authenticatorAttachment"), attachment != "platform" {
            credential.refuse("authenticatorAttachment", code: "not_allowed", "This has to be platform.")
        }
        let id = credential.string("id", length: 1...1024)
        let rawID = credential.string("rawId", length: 1...1024)
        if let id, let rawID, id != rawID {
            credential.refuse("rawId", code: "differs", "rawId and id are the same text.")
        }
        if let type = credential.string("type"), type != "public-key" {
            credential.refuse("type", code: "not_allowed", "This has to be public-key.")
        }
        let response = credential.object("response")
        response?.ignoreRest()
        var texts: [String: String] = [:]
        for part in parts {
            // Without a user handle the text is empty; it is never missing (belvo-api.md §6.2).
            let text = response?.string(part, length: (part == "userHandle" ? 0 : 1)...32_768)
            if let text, !text.utf8.allSatisfy(Base64URL.isDigit) {
                response?.refuse(part, code: "malformed", "This has to be base64url without padding.")
            }
            texts[part] = text
        }
        self.value = value
        clientData = texts["clientDataJSON"]
    }
}

extension Redirection {
    /// The longest `code` or `id_token` that is taken, in characters.
    private static let lengthMax = 16_384

    /// Reads what a bank sent back: a success or an error, not both.
    init?(_ reader: JSONReader) {
        let state = reader.string("state", length: 1...2048)
        let code = reader.optionalString("code", length: 1...Self.lengthMax)
        let idToken = reader.optionalString("id_token", length: 1...Self.lengthMax)
        let error = reader.optionalString("error", length: 1...256)
        let description = reader.optionalString("error_description", length: 0...2048)
        if error != nil, code != nil || idToken != nil {
            reader.refuse("error", code: "contradictory", "A redirect brings a code or an error, not both.")
            return nil
        }
        if let error {
            guard let state else { return nil }
            self = .rejected(state: state, error: error, errorDescription: description)
        } else {
            // Asked for as required only here, since an error comes without it.
            let code = code ?? reader.string("code")
            guard let state, let code else { return nil }
            self = .approved(state: state, code: code, idToken: idToken)
        }
    }
}

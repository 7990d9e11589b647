import Belvo
import FoundationEssentials
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

extension API {
    private var enrollments: EnrollmentWorkflow { EnrollmentWorkflow(dependencies: dependencies) }

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
        if let callbackURL, !dependencies.policy.callbackURLs.contains(callbackURL) {
            reader.refuse(
                "callback_url", code: "not_allowed", "This address is not one of the merchant's callback URLs.")
        }
        let signals = RiskSignals(reader)
        let metadata = reader.metadata()
        guard let institution, let platform, let signals, let deviceID = signals.deviceID,
            let tenure = signals.accountTenure, reader.isFaultless
        else { throw reader.faults }
        let requested = EnrollmentWorkflow.CreateRequest(
            institution: institution.uuid, platform: platform, name: name,
            callbackURL: callbackURL ?? dependencies.policy.callbackURLs[0], riskSignals: signals.raw,
            deviceID: deviceID,
            accountTenure: tenure, metadata: metadata)
        let pause = pollInterval
        let body = { @Sendable (enrollment: Stored<Enrollment>) in enrollment.json(pollAfter: pause) }
        let request = keyed(
            key, on: .enrollments, of: subject, inbound,
            canonical: requested.canonical(
                riskSignals: canonical(requested.riskSignals.bytes), metadata: canonical(requested.metadata?.json)),
            body: body)
        let creation = try await enrollments.create(
            requested, for: subject, as: request, offered: institutions.offered, on: callContext(inbound))
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
        let found = try await dependencies.store.enrollments(
            of: subject,
            where: Store.EnrollmentFilter(deviceID: device, status: try query.status(), belvoID: belvoID),
            before: try query.cursor(), limit: limit + 1)
        return page(found, limit: limit, id: \.id.uuid) { $0.write(to: &$1, pollAfter: pollInterval) }
    }

    /// `GET /v1/enrollments/{id}`
    func getEnrollment(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await fetch(.enrollment(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/enrollments/complete-redirection`
    func completeRedirection(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let redirection = Redirection(reader)
        guard let redirection, reader.isFaultless else { throw reader.faults }
        let workflow = RedirectionWorkflow(dependencies: dependencies)
        let arrival = try await workflow.arrival(of: redirection, from: subject)
        if !arrival.isRepeat {
            try access.admitRedirect(of: arrival.enrollment?.record.id, from: subject, at: inbound.client)
        }
        let result = try await workflow.receive(arrival, on: callContext(inbound))
        switch result {
        case .settled(let enrollment): return resource(.ok, enrollment.json(pollAfter: pollInterval))
        case .pending(let enrollment?): return resource(.accepted, enrollment.json(pollAfter: pollInterval))
        case .pending(nil): return json(.accepted, pollOnly)
        }
    }

    /// `GET /v1/enrollments/{id}/fido-registration-options`
    func getRegistrationOptions(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await fetch(.registrationOptions(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/enrollments/{id}/confirm`
    func confirmEnrollment(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let confirmation = Credential.registration(reader)
        guard let confirmation, let clientData = confirmation.clientData, reader.isFaultless else {
            throw reader.faults
        }
        let progress = try await enrollments.confirm(
            inbound.id(), of: subject,
            with: EnrollmentWorkflow.Confirmation(
                data: confirmation.raw, digest: digest(confirmation.value, for: .confirmation),
                clientData: clientData),
            on: callContext(inbound))
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

extension EnrollmentWorkflow.CreateRequest {
    /// The request in one spelling, however the app spelled it.
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

/// The risk signals that the phone's SDK collected: checked for size and shape, and passed on as it came
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
        if signals.optionalValue("deviceId") == nil {
            signals.refuse(
                "deviceId", code: "required",
                "This is required. On the web the signals come without it: it is the visitorId of getDevice().")
            deviceID = nil
        } else {
            deviceID = signals.string("deviceId", length: 1...512)
        }
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

/// The credential that an authenticator made: a registration or a signature, as the platform writes it and passed on as
/// it came (belvo-api.md §4.6, §6.2).
///
/// Browsers, Android's Credential Manager and Belvo's SDKs each have members of their own, and leave others out: what
/// is not needed here is not read.
struct Credential {
    /// For Belvo.
    let raw: RawJSON
    /// The same, to be compared with another.
    let value: JSONValue
    let clientData: String?

    /// Reads a registration, leaving faults with the reader.
    static func registration(_ reader: JSONReader) -> Credential? {
        read(reader, "confirmation_data", parts: ["attestationObject", "clientDataJSON"])
    }

    /// Reads a signature, leaving faults with the reader.
    ///
    /// An authenticator that keeps no user handle has none to give: platforms write null or nothing, and Belvo takes an
    /// empty text only.
    static func assertion(_ reader: JSONReader) -> Credential? {
        let parts = ["authenticatorData", "clientDataJSON", "signature"]
        guard let credential = read(reader, "assertion", parts: parts),
            let response = reader.object("assertion")?.object("response")
        else { return nil }
        guard response.optionalValue("userHandle") == nil else {
            _ = text("userHandle", of: response, lengthMin: 0)
            return credential
        }
        return credential.withEmptyUserHandle()
    }

    private static func read(_ reader: JSONReader, _ name: String, parts: [String]) -> Credential? {
        guard let value = reader.value(name), let credential = reader.object(name) else { return nil }
        credential.ignoreRest()
        if let attachment = credential.optionalString("authenticatorAttachment"),
            !attachment.isSameBytes(as: "platform")
        {
            credential.refuse("authenticatorAttachment", code: "not_allowed", "This has to be platform.")
        }
        let id = credential.string("id", length: 1...1024)
        let rawID = credential.string("rawId", length: 1...1024)
        if let id, let rawID, !AnyBase64.isSame(id, rawID) {
            credential.refuse("rawId", code: "differs", "rawId and id are the same bytes.")
        }
        if let type = credential.optionalString("type"), !type.isSameBytes(as: "public-key") {
            credential.refuse("type", code: "not_allowed", "This has to be public-key.")
        }
        credential.optionalObject("clientExtensionResults")?.ignoreRest()
        let response = credential.object("response")
        response?.ignoreRest()
        var texts: [String: String] = [:]
        for part in parts { texts[part] = response.flatMap { text(part, of: $0, lengthMin: 1) } }
        return Credential(raw: RawJSON(value), value: value, clientData: texts["clientDataJSON"])
    }

    /// One of the texts that stand for bytes.
    private static func text(_ name: String, of response: JSONReader, lengthMin: Int) -> String? {
        let text = response.string(name, length: lengthMin...32_768)
        if let text, AnyBase64.decode(text) == nil {
            response.refuse(name, code: "malformed", "This has to be base64url or base64, padded or not.")
        }
        return text
    }

    /// The same with an empty text for the user handle, and every other member as it came.
    private func withEmptyUserHandle() -> Credential {
        let text = JSONWriter.object { credential in
            for member in value.members {
                guard member.name.isSameBytes(as: "response") else {
                    credential.memberRaw(member.name, member.value.raw)
                    continue
                }
                credential.memberObject(member.name) { response in
                    for part in member.value.members where !part.name.isSameBytes(as: "userHandle") {
                        response.memberRaw(part.name, part.value.raw)
                    }
                    response.member("userHandle", "")
                }
            }
        }
        // Written here from what was parsed: where it did not parse again, it would be passed on as it came.
        guard let document = try? JSONDocument(parsing: text) else { return self }
        return Credential(raw: RawJSON(document.root), value: document.root, clientData: clientData)
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

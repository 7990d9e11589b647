import HTTP
import JSON

extension SandboxState {
    /// `POST /payments/br/enrollments/` (belvo-api.md §4.1).
    mutating func createEnrollment(_ call: Call) throws(Refusal) -> Response {
        let reader = JSONReader(try call.document())
        let type = reader.oneOf("type", EnrollmentType.self)
        let externalID = reader.optionalString("external_id", length: 1...255)
        let metadata = reader.metadata()
        let details = reader.object("details").flatMap(readDetails)
        guard type != nil, let details, accepts(reader) else { throw refusal(reader) }

        let (id, moment) = (entropy.uuid(), now)
        let redirection = Enrollment.Redirection(
            state: entropy.base64URL(24), nonce: entropy.base64URL(16),
            requestURI: "urn:ietf:params:oauth:request_uri:\(entropy.base64URL(24))")
        let enrollment = Enrollment(
            id: id, externalID: externalID, metadata: metadata, customer: details.customer,
            institution: details.institution, name: details.name, platform: details.platform.rawValue,
            callbackURL: details.callbackURL,
            redirectURL: BankPage.address(redirection, callbackURL: details.callbackURL, in: self),
            deviceID: details.deviceID, createdAt: moment, updatedAt: moment, redirection: redirection,
            registration: Enrollment.Registration(userID: entropy.uuid()))
        enrollments.add(enrollment)
        enrollmentsByState[redirection.state] = id
        agenda.add(.expireEnrollment(id), at: moment + configuration.enrollmentLifetime)
        return Answer.object(.created) { writeEnrollment(enrollment, to: &$0) }
    }

    func writeEnrollment(_ enrollment: Enrollment, to writer: inout JSONWriter) {
        enrollment.write(to: &writer, createdBy: merchant, variants: variants)
    }

    private struct Details {
        let customer: String
        let institution: String
        let name: String?
        let platform: Platform
        let callbackURL: String
        let deviceID: String
    }

    private func readDetails(_ reader: JSONReader) -> Details? {
        let customer = readCustomer(reader)
        let institution = reader.uuid("institution")
        if let institution, !configuration.institutions.contains(where: { $0.id == institution && $0.enrolls }) {
            reader.refuse("institution", code: "does_not_exist", "This institution does not offer enrollments.")
        }
        let name = reader.optionalString("name", length: 1...140)
        let platform = reader.oneOf("platform", Platform.self)
        let callbackURL = reader.read("callback_url", readCallbackURL)
        let day = variants.tenure == .creationDay ? customer.flatMap { customers[$0]?.createdAt.day } : nil
        let signals = RiskSignals(
            in: reader, phone: variants.phoneSignals == .required && platform != .browser, tenure: day)
        guard let customer, let institution, let platform, let callbackURL, let signals else { return nil }
        return Details(
            customer: customer, institution: institution, name: name, platform: platform,
            callbackURL: callbackURL, deviceID: signals.deviceID)
    }
}

extension SandboxState {
    /// The id of the customer that the member `customer` names, with a fault when there is none
    /// (belvo-api.md §11, lines 4 and 5).
    func readCustomer(_ reader: JSONReader) -> String? {
        reader.read("customer") { value throws(JSONFault) in
            if value.kind == .object, variants.customerReference == .identityOrObject {
                guard let id = customersByIdentifier[value["identifier"]?.string ?? ""] else {
                    throw .doesNotExist("customer")
                }
                return id
            }
            guard let text = value.string, let id = UUIDText.parse(text) else { throw .notUUID }
            guard customers[id] != nil else { throw .doesNotExist("customer") }
            return id
        }
    }
}

enum EnrollmentType: String, CaseIterable { case biometricPix = "open_finance_biometric_pix" }

/// https, as the guide demands; http for a loopback host alone, so that a demo needs no certificate.
private func readCallbackURL(_ value: JSONValue) throws(JSONFault) -> String {
    guard let text = value.string, text.utf8.count <= 2048, let url = URL(text) else {
        throw .invalid("Enter a valid URL.")
    }
    let isLoopback = ["127.0.0.1", "::1", "localhost"].contains(url.origin.host)
    guard url.origin.scheme == .https || isLoopback else { throw .invalid("The URL must be https.") }
    return text
}

import HTTP
import JSON

extension Client {
    /// Creates an enrollment (belvo-api.md §4.1).
    public func createEnrollment(
        _ enrollment: NewEnrollment,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> Enrollment {
        let body = JSONWriter.object {
            $0.member("type", paymentMethod)
            $0.member("external_id", enrollment.externalID)
            if let metadata = enrollment.metadata { $0.memberRaw("metadata", metadata.bytes) }
            $0.memberObject("details") {
                $0.member("customer", enrollment.customer.description)
                $0.member("institution", enrollment.institution.description)
                if let name = enrollment.name { $0.member("name", name) }
                $0.member("platform", enrollment.platform.rawValue)
                $0.member("callback_url", enrollment.callbackURL)
                $0.memberRaw("risk_signals", enrollment.riskSignals.bytes)
            }
        }
        return try await object(.createEnrollment, post(Path.enrollments, body, trace)) {
            (answer) throws(MalformedAnswer) in
            try created(Enrollment(answer), as: enrollment.externalID, \.externalID)
        }
    }

    /// Tells Belvo how the bank sent the person back (belvo-api.md §4.4).
    ///
    /// Belvo finds the enrollment by its `state`: the caller compares the answer's `id` with the one expected.
    /// Success here is not the person's: read `status`.
    public func completeRedirection(
        _ redirection: Redirection,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> Enrollment {
        let body = JSONWriter.object {
            switch redirection {
            case .approved(let state, let code, let idToken):
                $0.member("state", state)
                $0.member("code", code)
                if let idToken { $0.member("id_token", idToken) }
            case .rejected(let state, let error, let errorDescription):
                $0.member("state", state)
                $0.member("error", error)
                if let errorDescription { $0.member("error_description", errorDescription) }
            }
        }
        let request = post(Path.completeRedirection, body, trace)
        return try await object(.completeRedirection, request, reading: Enrollment.init)
    }

    /// Asks for what the device needs in order to register itself (belvo-api.md §4.5).
    ///
    /// What Belvo answers before the bank has spoken is not documented. A missing object, a conflict, "too
    /// early", an empty body and options without a challenge all mean the same: not yet.
    public func readRegistrationOptions(
        of id: Enrollment.ID,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> RegistrationOptions {
        let request = get(Path.registrationOptions(id), trace)
        let response: Response
        do {
            response = try await exchange(.readRegistrationOptions, request, within: configuration.timeout)
        } catch {
            switch error {
            case .notFound, .conflict: return .notYet
            case .throttled(let refusal) where refusal.status == 425: return .notYet
            default: throw error
            }
        }
        return try judge(.readRegistrationOptions) { () throws(MalformedAnswer) in
            do throws(MalformedAnswer) {
                return try registrationOptions(response)
            } catch {
                // 202 promises an answer for later and may say anything now (RFC 9110 §15.3.3).
                guard response.status == .accepted else { throw error }
                return .notYet
            }
        }
    }

    /// Hands over what the device made of the registration options (belvo-api.md §4.6).
    ///
    /// It can be done once: the challenge is used up. Returning means that Belvo has accepted it for the bank
    /// to check; whether the enrollment succeeds is for `readEnrollment` to show.
    public func confirmEnrollment(
        _ id: Enrollment.ID,
        confirmationData: RawJSON,
        trace: TraceParent? = nil
    ) async throws(BelvoError) {
        let body = JSONWriter.object { $0.memberRaw("confirmation_data", confirmationData.bytes) }
        let request = post(Path.confirmation(id), body, trace)
        try await acknowledgement(.confirmEnrollment, request)
    }

    /// Reads one enrollment, by Belvo's id: the authority on how it stands.
    public func readEnrollment(_ id: Enrollment.ID, trace: TraceParent? = nil) async throws(BelvoError) -> Enrollment {
        try await object(.readEnrollment, get(Path.enrollment(id), trace)) { (answer) throws(MalformedAnswer) in
            try asked(Enrollment(answer), for: id, \.id)
        }
    }

    /// Lists the enrollments of a device, of all customers: the caller drops those of others
    /// (belvo-api.md §4.7).
    public func listEnrollments(
        deviceID: String,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> [Enrollment] {
        let request = get(Path.enrollments, query: ["device_id": deviceID], trace)
        return try await list(.listEnrollments, request) { (item) throws(MalformedAnswer) in
            try Enrollment(Answer(item))
        }
    }

    /// Finds the enrollments that were created with an `external_id`: none, one, or several.
    public func findEnrollments(
        externalID: String,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> [Enrollment] {
        let request = get(Path.enrollments, query: ["external_id": externalID], trace)
        return try await found(.listEnrollments, request, externalID: externalID, reading: Enrollment.init).named
    }

    private func registrationOptions(_ response: Response) throws(MalformedAnswer) -> RegistrationOptions {
        guard !response.body.isEmpty else { return .notYet }
        let root = try root(response)
        guard !root.isNull else { return .notYet }
        return try FIDOOptions(Answer(root)).map(RegistrationOptions.ready) ?? .notYet
    }
}

import HTTP

extension SandboxState {
    /// `GET /payments/br/enrollments/{id}/`.
    func getEnrollment(_ call: Call) throws(Refusal) -> Response {
        guard let enrollment = enrollments[call.id], isReadable(enrollment.createdAt) else { throw .notFound }
        return Answer.object(.ok) { writeEnrollment(enrollment, to: &$0) }
    }

    /// `GET /payments/br/enrollments/` (belvo-api.md §4.7), newest first.
    func listEnrollments(_ call: Call) throws(Refusal) -> Response {
        let query = call.query
        if variants.deviceFilter == .required, query["device_id"] == nil {
            throw .badRequest("required", "This field is required.", field: "device_id")
        }
        let found = enrollments.all.reversed().filter { enrollment in
            isListed(enrollment.createdAt)
                && query.allows("device_id", enrollment.deviceID)
                && query.allows("customer", enrollment.customer)
                && query.allows("customer__identifier", customers[enrollment.customer]?.identifier)
                && query.allows("institution", enrollment.institution)
                && query.allows("status", enrollment.status.rawValue)
                && query.allows("external_id", enrollment.externalID)
        }
        return try list(found, call) { writeEnrollment($1, to: &$0) }
    }
}

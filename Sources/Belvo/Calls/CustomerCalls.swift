import HTTP
import JSON

extension Client {
    /// Creates a customer (belvo-api.md §3.1).
    public func createCustomer(
        _ customer: NewCustomer,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> Customer {
        let body = JSONWriter.object {
            $0.member("identifier", customer.identifier)
            $0.member("name", customer.name)
            $0.member("external_id", customer.externalID)
            if let email = customer.email { $0.member("email", email) }
            if let phone = customer.phone { $0.member("phone", phone) }
        }
        let request = versioned(post(Path.customers, body, trace))
        let made = try await object(.createCustomer, request) { (answer) throws(MalformedAnswer) in try Customer(answer)
        }
        // Belvo may answer with the customer that has this tax number already: another person's.
        guard made.externalID.map({ $0.utf8.elementsEqual(customer.externalID.utf8) }) ?? true else {
            throw BelvoError.conflict(
                ErrorResponse(status: 409, items: [.init(code: "exists", message: nil, field: "identifier")]))
        }
        return made
    }

    /// Finds the customers that were created with an `external_id`: none, one, or, since Belvo does not
    /// promise that it is unique, several.
    public func findCustomers(
        externalID: String,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> [Customer] {
        let request = versioned(get(Path.customers, query: ["external_id": externalID], trace))
        return try await found(.findCustomers, request, externalID: externalID, reading: Customer.init).named
    }

    /// Reads one customer, by Belvo's id.
    public func readCustomer(_ id: Customer.ID, trace: TraceParent? = nil) async throws(BelvoError) -> Customer {
        let request = versioned(get(Path.customer(id), trace))
        return try await object(.readCustomer, request) { (answer) throws(MalformedAnswer) in
            try asked(Customer(answer), for: id, \.id)
        }
    }

    private func versioned(_ request: Request) -> Request {
        guard configuration.dialect.customerVersion == .v2 else { return request }
        var request = request
        request.headers.append("x-belvo-api-resource-version", "Payments-BR.V2")
        return request
    }
}

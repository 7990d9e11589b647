import HTTP
import JSON

extension SandboxState {
    /// `POST /payments/br/customers/` (belvo-api.md §3.1).
    mutating func createCustomer(_ call: Call) throws(Refusal) -> Response {
        let reader = JSONReader(try call.document())
        let identifier = reader.read("identifier", readIdentifier)
        let name: String? =
            asksForV2(call.request)
            ? reader.string("name", length: 5...200) : reader.optionalString("name", length: 5...200)
        let externalID = reader.optionalString("external_id", length: 1...255)
        let email = reader.optionalString("email", length: 3...254)
        let phone = reader.optionalString("phone", length: 3...40)
        let address = reader.optionalValue("address").map { Array($0.raw) }
        // Older requests carry these three; they are checked and not needed.
        for name in ["customer_type", "identifier_type", "country"] { _ = reader.optionalString(name) }
        guard let identifier, accepts(reader) else { throw refusal(reader) }

        if let known = customersByIdentifier[identifier].flatMap({ customers[$0] }) {
            switch variants.duplicateCustomers {
            case .created: break
            case .returned: return customer(.ok, known)
            case .refused:
                throw .badRequest("unique", "A customer with this identifier exists.", field: "identifier")
            }
        }
        let created = Customer(
            id: entropy.uuid(), identifier: identifier, name: name, externalID: externalID, email: email,
            phone: phone, address: address, createdAt: now)
        customers.add(created)
        if customersByIdentifier[identifier] == nil { customersByIdentifier[identifier] = created.id }
        return customer(.created, created)
    }

    /// `GET /payments/br/customers/`.
    func listCustomers(_ call: Call) throws(Refusal) -> Response {
        let found = customers.all.reversed().filter { customer in
            isListed(customer.createdAt)
                && call.query.allows("external_id", customer.externalID)
                && call.query.allows("identifier", customer.identifier)
        }
        return try list(found, call, canBeBare: false) { $1.write(to: &$0, createdBy: merchant) }
    }

    /// `GET /payments/br/customers/{id}/`.
    func getCustomer(_ call: Call) throws(Refusal) -> Response {
        guard let found = customers[call.id], isReadable(found.createdAt) else { throw .notFound }
        return customer(.ok, found)
    }

    private func customer(_ status: Status, _ customer: Customer) -> Response {
        Answer.object(status) { customer.write(to: &$0, createdBy: merchant) }
    }

    /// Only customers, bank accounts and payment authorizations know a second version (belvo-api.md §1).
    private func asksForV2(_ request: Request) -> Bool {
        request.headers["x-belvo-api-resource-version"] == "Payments-BR.V2"
    }
}

/// 11 characters of a CPF or 14 of a CNPJ, which may hold letters since July 2026; no punctuation.
///
/// Check digits are not verified: whether Belvo does is not documented.
private func readIdentifier(_ value: JSONValue) throws(JSONFault) -> String {
    guard let text = value.string else { throw .invalid("Must be a string.") }
    let isPlain = text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) && text.utf8.count == 14
    }
    guard isPlain, [11, 14].contains(text.utf8.count) else {
        throw .invalid("Must be a CPF of 11 digits or a CNPJ of 14 characters.")
    }
    return text
}

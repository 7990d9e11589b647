import JSON

/// A payer (belvo-api.md §3.1).
struct Customer: Sendable, Identifiable {
    let id: String
    let identifier: String
    let name: String?
    let externalID: String?
    let email: String?
    let phone: String?
    /// The address as it was sent, JSON text.
    let address: [UInt8]?
    let createdAt: Timestamp

    /// A CPF has 11 characters, a CNPJ 14.
    var isIndividual: Bool { identifier.utf8.count == 11 }

    func write(to writer: inout JSONWriter, createdBy: String) {
        writer.member("id", id)
        writer.member("created_at", createdAt.text)
        writer.member("updated_at", createdAt.text)
        writer.member("created_by", createdBy)
        writer.member("customer_type", isIndividual ? "INDIVIDUAL" : "BUSINESS")
        writer.member("name", name)
        writer.member("country", "BRA")
        writer.member("email", email)
        writer.member("identifier", masked)
        writer.member("identifier_type", isIndividual ? "CPF" : "CNPJ")
        if let address { writer.memberRaw("address", address) } else { writer.memberNull("address") }
        writer.member("phone", phone)
        writer.member("external_id", externalID)
    }

    /// The two characters at each end, six asterisks between: `23******00`.
    private var masked: String { "\(identifier.prefix(2))******\(identifier.suffix(2))" }
}

import JSON

/// The merchant's account that receives the money (belvo-api.md §3.3).
struct BankAccount: Sendable, Identifiable {
    let id: String
    let institution: String
    let createdAt: Timestamp

    func write(to writer: inout JSONWriter, createdBy: String) {
        writer.member("id", id)
        writer.member("created_at", createdAt.text)
        writer.member("created_by", createdBy)
        writer.member("customer", String?.none)
        writer.member("institution", institution)
        writer.memberObject("holder") { holder in
            holder.member("type", "BUSINESS")
            holder.memberObject("information") { information in
                information.member("name", "Loja de Demonstração Ltda.")
                information.member("identifier_type", "CNPJ")
                information.member("identifier", "11******95")
            }
        }
        writer.memberObject("details") { details in
            details.member("country", "BRA")
            details.member("account_type", "CHECKINGS")
            details.member("agency", "0001")
            details.member("number", "*****4321")
        }
        writer.member("active", true)
        writer.member("external_id", String?.none)
    }
}

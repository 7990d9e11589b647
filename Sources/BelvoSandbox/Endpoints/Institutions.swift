import HTTP
import JSON

extension SandboxState {
    /// `GET /payments/br/institutions/` (belvo-api.md §3.2).
    func listInstitutions(_ call: Call) throws(Refusal) -> Response {
        let name = call.query["name"]?.lowercased()
        if let name, name.count < 3 {
            throw .badRequest("min_length", "Ensure this value has at least 3 characters.", field: "name")
        }
        let ids = call.query["id__in"].map { Set($0.lowercased().split(separator: ",").map(String.init)) }
        let kind = call.query["institution_type"]
        let found = configuration.institutions.filter { institution in
            (name.map { institution.name.contains($0) } ?? true)
                && (ids?.contains(institution.id) ?? true)
                && (kind.map { institution.kind.rawValue == $0 } ?? true)
        }
        return try list(found, call, canBeBare: false) { $1.write(to: &$0) }
    }
}

import HTTP
import JSON

extension Client {
    /// Lists every bank that Belvo knows, whether it offers Biometric Pix or not (belvo-api.md §3.2).
    public func listInstitutions(trace: TraceParent? = nil) async throws(BelvoError) -> InstitutionList {
        let request = get(Path.institutions, trace)
        let entries = try await list(.listInstitutions, request) { (item) throws(MalformedAnswer) -> Institution? in
            // One odd entry is counted and left out: nothing is concluded from its absence.
            try? Institution(Answer(item))
        }
        let institutions = entries.compactMap(\.self)
        return InstitutionList(institutions: institutions, unreadable: entries.count - institutions.count)
    }
}

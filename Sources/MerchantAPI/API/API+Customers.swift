import Belvo
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

extension API {
    /// `PUT /v1/customer`
    func putCustomer(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let name = reader.text("name", PersonName.init)
        let taxID = reader.text("identifier") { (text) throws(TaxID.Fault) in try TaxID(text) }
        let email = reader.optionalText("email", EmailAddress.init)
        let phone = reader.optionalText("phone", PhoneNumber.init)
        guard let name, let taxID, reader.isFaultless else { throw reader.faults }
        let (progress, isNew) = try await CustomerWorkflow(dependencies: dependencies).put(
            Customer.Person(name: name, taxID: taxID, email: email, phone: phone), for: subject,
            on: callContext(inbound))
        let body = progress.resource.json(pollAfter: pollInterval)
        switch progress {
        case .pending: return resource(.accepted, body)
        case .done: return resource(isNew ? .created : .ok, body)
        }
    }

    /// `GET /v1/customer`
    func getCustomer(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        // Trying again would end the same way: what helps is said here too.
        if try await dependencies.store.customer(of: subject)?.record.failureCode == Customer.identifierInUse {
            throw WorkflowRefusal.identifierInUse
        }
        return try await fetch(.customer, of: subject).answer(to: inbound)
    }

    /// `POST /v1/widget-token`
    ///
    /// The refresh token ends here: it never leaves the server.
    func mintWidgetToken(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        guard dependencies.policy.mintsWidgetTokens else { throw APIError.notFound }
        let token = try await WidgetTokenWorkflow(dependencies: dependencies).token(
            for: subject, on: callContext(inbound))
        let body = JSONWriter.object { answer in
            answer.member("access", token.access.text)
            answer.member("expires_at", token.expiresAt?.description)
        }
        return json(.created, body)
    }

    /// `GET /v1/institutions`
    func listInstitutions(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let query = try inbound.query(["limit", "cursor"])
        let (limit, cursor) = (try query.limit(), try query.cursor())
        let all = try await institutions.offered()
        // A bank that has left the list leaves no place behind: rather show all of them again than miss one.
        let start = all.firstIndex { $0.id.uuid == cursor }.map { $0 + 1 } ?? 0
        let shown = all[start...].prefix(limit)
        let body = JSONWriter.object { list in
            list.memberArray("results") { results in
                for institution in shown {
                    results.object {
                        $0.member("id", institution.id.description)
                        $0.member("name", institution.name)
                        $0.member("display_name", institution.displayName)
                        $0.member("country", institution.country)
                        $0.member("active", institution.isActive)
                        $0.member("institution_type", institution.type)
                        $0.member("icon_logo", institution.iconLogo)
                        $0.member("text_logo", institution.textLogo)
                        $0.member("primary_color", institution.primaryColor)
                    }
                }
            }
            list.member(
                "next", shown.endIndex < all.endIndex ? shown.last.map { Query.cursor(behind: $0.id.uuid) } : nil)
        }
        return json(.ok, body)
    }
}

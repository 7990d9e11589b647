import Belvo
import FoundationEssentials
import HTTP
import JSON
import MerchantAuth
import MerchantStore
import MerchantWorkflows

// Belvo's webhooks (belvo-api.md §8).
extension API {
    /// `POST /webhooks/belvo`
    ///
    /// The answer says that it is on disk, and nothing more: what it leads to is found out afterwards, by reading the
    /// object. The media type is not checked: a webhook with another one would be lost for it.
    func takeWebhook(_ inbound: Inbound) async throws -> Response {
        try access.check(dependencies.policy.webhooks, scheme: .optional, of: inbound.request, from: inbound.client)
        let root = try JSONDocument(parsing: inbound.request.body, limits: .tolerant).root
        guard root.kind == .object else {
            throw APIError.invalid("", "wrong_type", "A webhook is one JSON object.")
        }
        try await WebhookWorkflow(dependencies: dependencies).receive(
            WebhookWorkflow.WebhookHint(
                type: word(root["webhook_type"]), code: word(root["webhook_code"]),
                object: uuid(root["object_id"]),
                externalID: uuid(root["external_id"]) ?? uuid(root["data"]?["payment_intent"]),
                body: inbound.request.body),
            digest: digest(root, for: .webhook))
        return Response(.ok)
    }

    private func uuid(_ value: JSONValue?) -> UUID? { value?.string.flatMap { UUID(uuidString: $0) } }

    /// Belvo's code, or `UNREADABLE` if it is no plain code.
    private func word(_ value: JSONValue?) -> String {
        guard let text = value?.string, !text.isEmpty else { return "" }
        return PlainWord.isCode(text) ? text : PlainWord.unreadable
    }
}

import Contract
import Crypto
import HTTP
import JSON
import MerchantWorkflows

extension API {
    /// `GET /openapi.json`: the contract that everything else here keeps.
    func describe(_ inbound: Inbound) -> Response {
        let known = inbound.request.headers.values("if-none-match").joined(separator: ",")
        var headers: Headers = ["etag": Self.documentTag, "cache-control": "public, max-age=3600"]
        // Weakly compared, as RFC 9110 §13.1.2 has it; the tag itself has no comma.
        let tags = known.split(separator: ",").map { String($0).trimmingSpaces }
        if tags.contains(where: { $0 == "*" || $0 == Self.documentTag || $0 == "W/\(Self.documentTag)" }) {
            return Response(.notModified, headers: headers)
        }
        headers.append("content-type", "application/json")
        return Response(.ok, headers: headers, body: Contract.document)
    }

    /// A digest of the document: it changes with the program and never while it runs.
    private static let documentTag = "\"\(Base64URL.encode(Array(SHA256.hash(data: Contract.document).prefix(16))))\""
}

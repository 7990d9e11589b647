import Belvo
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

/// The key that tells a repeated request from another one (IETF draft, The Idempotency-Key HTTP Header Field).
enum IdempotencyKey {
    static let lengths = 1...255

    /// The key, if the request carries one; it may carry it once.
    static func optional(in request: Request) throws(APIError) -> String? {
        let values = request.headers.values("idempotency-key")
        guard let key = values.first else { return nil }
        guard values.count == 1, lengths.contains(key.utf8.count),
            key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw APIError(
                .badRequest, .idempotencyKeyMalformed, "An Idempotency-Key is 1 to 255 visible ASCII characters.")
        }
        return key
    }

    /// The key, which the request must carry.
    static func required(in request: Request) throws(APIError) -> String {
        guard let key = try optional(in: request) else {
            throw APIError(.badRequest, .idempotencyKeyRequired, "This request needs an Idempotency-Key.")
        }
        return key
    }
}

// Both routes whose requests may be repeated under a key.
extension API {
    /// The request as its workflow knows it again: `canonical` is what was asked for in one spelling, however the app
    /// spelled it, and `body` what the app is shown of the record.
    ///
    /// Only a keyed digest of the canonical text is kept.
    func keyed<Record>(
        _ key: String?, on route: IdempotencyClaim.Route, of subject: UserSubject, _ inbound: Inbound,
        canonical: @autoclosure () -> [UInt8], body: @escaping @Sendable (Stored<Record>) -> [UInt8]
    ) -> KeyedRequest<Record> {
        let requestID = inbound.requestID
        return KeyedRequest(
            claim: key.map {
                IdempotencyClaim(
                    subject: subject, route: route, key: $0,
                    requestDigest: digest(canonical(), for: .idempotentRequest))
            },
            made: { StoredAnswer(status: HTTP.Status.created.code, body: body($0)) },
            refused: { error in
                let response = APIError(describing: error).response(requestID: requestID)
                return StoredAnswer(status: response.status.code, body: response.body)
            })
    }

    /// 201 for what is made, 202 for an unknown outcome, and the stored answer, byte for byte, for what was
    /// answered before.
    func answer<Record>(
        _ creation: Creation<Record>, body: @Sendable (Stored<Record>) -> [UInt8]
    ) -> Response {
        switch creation {
        case .made(.done(let record)), .known(.done(let record)): return resource(.created, body(record))
        case .made(.pending(let record)), .known(.pending(let record)): return resource(.accepted, body(record))
        case .replayed(let answer):
            var response = resource(HTTP.Status(parsed: answer.status) ?? .ok, answer.body)
            if answer.status >= 400 {
                response.headers = ["content-type": "application/problem+json"]
            }
            response.headers.append("idempotent-replayed", "true")
            return response
        }
    }

    /// A JSON text in its one spelling; none for none.
    func canonical(_ json: [UInt8]?) -> [UInt8]? {
        // It was parsed before it was kept, so it parses again.
        json.flatMap { try? JSONDocument(parsing: $0).root.canonicalBytes() }
    }
}

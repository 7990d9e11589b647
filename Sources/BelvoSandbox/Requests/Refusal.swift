import HTTP
import JSON

/// An answer that says no, before it is brought into the form that the variants ask for.
struct Refusal: Error {
    var status: Status
    var items: [Item]
    var headers = Headers()
    /// A page of the firewall before Belvo instead of an answer by Belvo.
    var isPage = false

    /// One error (belvo-api.md §1.1).
    struct Item {
        let code: String
        let message: String
        /// The member, nested names joined by dots; nil for the whole request.
        var field: String?
    }

    static func badRequest(_ code: String, _ message: String, field: String? = nil) -> Refusal {
        Refusal(status: .badRequest, items: [Item(code: code, message: message, field: field)])
    }

    static func conflict(_ message: String) -> Refusal {
        Refusal(status: .conflict, items: [Item(code: "invalid_state", message: message)])
    }

    static let notFound = Refusal(status: .notFound, items: [Item(code: "not_found", message: "Not found.")])
    static let unsupportedMediaType = Refusal(
        status: .unsupportedMediaType,
        items: [Item(code: "unsupported_media_type", message: "Unsupported media type in request.")])
    static let unauthorized = Refusal(
        status: .unauthorized,
        items: [
            Item(
                code: "authentication_failed",
                message: "No active account found with the given credentials")
        ], headers: Headers(["www-authenticate": "Basic realm=\"api\""]))
    static let tokenNotValid = Refusal(
        status: .unauthorized, items: [Item(code: "token_not_valid", message: "Token is invalid or expired")])
    static let forbiddenPage = Refusal(status: .forbidden, items: [], isPage: true)

    static func methodNotAllowed(_ allowed: [Method]) -> Refusal {
        Refusal(
            status: .methodNotAllowed,
            items: [Item(code: "method_not_allowed", message: "Method not allowed.")],
            headers: Headers(["allow": allowed.map(\.rawValue).joined(separator: ", ")]))
    }

    func response(form: ErrorForm, requestID: String) -> Response {
        guard !isPage else { return Page.response(status, Page.firewall(status)) }
        var headers = headers
        headers.append("content-type", "application/json")
        headers.append("x-request-id", requestID)
        return Response(status, headers: headers, body: body(form, requestID))
    }

    private func body(_ form: ErrorForm, _ requestID: String) -> [UInt8] {
        switch form {
        case .array:
            return JSONWriter.array { array in
                for item in items { array.object { item.write(to: &$0, requestID) } }
            }
        case .object:
            return JSONWriter.object { object in items.first?.write(to: &object, requestID) }
        case .detail:
            return JSONWriter.object { object in
                object.member("detail", items.first?.message)
                object.member("code", items.first?.code)
            }
        }
    }
}

extension Refusal.Item {
    fileprivate func write(to writer: inout JSONWriter, _ requestID: String) {
        writer.member("request_id", requestID)
        writer.member("message", message)
        writer.member("code", code)
        if let field { writer.member("field", field) }
    }
}

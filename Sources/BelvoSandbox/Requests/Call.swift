import HTTP
import JSON

/// One call to Belvo's API, past its routing.
struct Call {
    let request: Request
    let endpoint: Endpoint
    /// The ids in the path, in order.
    let ids: [String]
    let query: FormFields

    init(_ request: Request, endpoint: Endpoint, ids: [String]) throws(Refusal) {
        self.request = request
        self.endpoint = endpoint
        self.ids = ids
        do { query = try FormFields(parsing: request.target.query ?? "") } catch {
            throw .badRequest("parse_error", "The query is malformed.")
        }
    }

    /// The first id of a path that has one by its pattern.
    var id: String { ids.first ?? "" }

    /// The body's root, which must be an object in JSON.
    func document() throws(Refusal) -> JSONValue {
        guard isJSON else { throw .unsupportedMediaType }
        let document: JSONDocument
        do { document = try JSONDocument(parsing: request.body) } catch {
            throw .badRequest("parse_error", "JSON parse error - \(error)")
        }
        guard document.root.kind == .object else {
            throw .badRequest("invalid", "Invalid data. Expected a dictionary.")
        }
        return document.root
    }

    private var isJSON: Bool {
        let type = request.headers["content-type"]?.split(separator: ";")[0].lowercased() ?? ""
        return type.split(separator: " ").joined() == "application/json"
    }
}

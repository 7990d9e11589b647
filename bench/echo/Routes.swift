import HTTP
import JSON

/// The routes of the program and what answers them.
struct Routes: Sendable {
    private enum Route: Int, CaseIterable {
        case getStatic, echo, getRow, postRow

        var method: HTTP.Method {
            switch self {
            case .getStatic, .getRow: .get
            case .echo, .postRow: .post
            }
        }

        var path: String {
            switch self {
            case .getStatic: "/static"
            case .echo: "/echo"
            case .getRow: "/rows/{id}"
            case .postRow: "/rows"
            }
        }
    }

    private let table = RouteTable(Route.allCases.map { ($0.method, $0.path) })
    private let rows: Rows?

    init(rows: Rows?) {
        self.rows = rows
    }

    nonisolated(nonsending) func respond(to request: Request) async -> Response {
        guard case .route(let place, let id) = table.match(request.method, request.target.path),
            let route = Route(rawValue: place)
        else { return Self.refusal(.notFound) }
        do {
            switch route {
            case .getStatic: return Self.alive
            case .echo: return Self.json(.ok, try Order(parsing: request.body).text)
            case .getRow:
                guard let rows, let id = id.flatMap({ Int64($0) }), let row = try await rows.row(id) else {
                    return Self.refusal(.notFound)
                }
                return Self.json(.ok, row)
            case .postRow:
                guard let rows else { return Self.refusal(.notFound) }
                return Self.json(.created, try await rows.insert(request.body))
            }
        } catch is JSONFaults {
            return Self.refusal(.unprocessableContent)
        } catch is JSONSyntaxError {
            return Self.refusal(.badRequest)
        } catch {
            return Self.refusal(.internalServerError)
        }
    }

    static func refusal(_ status: HTTP.Status) -> Response {
        json(status, JSONWriter.object { $0.member("status", status.reason) })
    }

    private static func json(_ status: HTTP.Status, _ body: [UInt8]) -> Response {
        Response(status, headers: jsonHeaders, body: body)
    }

    private static let jsonHeaders: Headers = ["content-type": "application/json"]
    private static let alive = json(.ok, JSONWriter.object { $0.member("status", "ok") })
}

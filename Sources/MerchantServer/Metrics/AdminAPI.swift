import HTTP
import MerchantAPI

/// The requests of operators on `ADMIN_LISTEN`.
struct AdminAPI: Sendable {
    let health: Health
    let metrics: MetricsPage

    func respond(to request: Request) async -> Response {
        switch (request.method, request.target.path) {
        case (.get, "/livez"), (.head, "/livez"): health.live()
        case (.get, "/readyz"), (.head, "/readyz"): await health.readyInDetail()
        case (.get, "/metrics"), (.head, "/metrics"): await metrics.response()
        case (_, "/livez"), (_, "/readyz"), (_, "/metrics"):
            Response(.methodNotAllowed, headers: ["allow": "GET, HEAD"])
        default: Response(.notFound)
        }
    }
}

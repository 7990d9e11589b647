import HTTP
import Testing

/// The table finds the route of a method and a path.
@Suite struct RouteTableTests {
    private let table = RouteTable([
        (.get, "/livez"), (.get, "/orders"), (.post, "/orders"), (.get, "/orders/{reference}"),
        (.put, "/orders/{reference}"), (.post, "/orders/{reference}/cancel"), (.post, "/orders/import"),
    ])

    @Test(arguments: [
        (Method.get, "/livez", 0, nil), (.head, "/livez", 0, nil), (.get, "/livez/", 0, nil), (.get, "/orders", 1, nil),
        (.post, "/orders", 2, nil), (.get, "/orders/7", 3, "7"), (.put, "/orders/%20", 4, "%20"),
        (.head, "/orders/7/", 3, "7"), (.post, "/orders/7/cancel", 5, "7"), (.post, "/orders/import", 6, nil),
    ])
    func `a path leads to its route`(method: HTTP.Method, path: String, place: Int, id: String?) {
        #expect(table.match(method, path) == .route(place, id: id))
    }

    @Test(arguments: ["/", "", "/live", "/livez/x", "/orders//cancel", "/orders/7/cancel/x", "/Orders", "*"])
    func `an unknown path leads nowhere`(path: String) {
        #expect(table.match(.get, path) == .nothing)
    }

    @Test(arguments: [
        (Method.post, "/livez", ["GET", "HEAD"]), (.delete, "/orders", ["GET", "HEAD", "POST"]),
        (.head, "/orders/7/cancel", ["POST"]), (.get, "/orders/import", ["POST"]),
    ])
    func `a known path tells its methods to who uses another`(method: HTTP.Method, path: String, allowed: [String]) {
        #expect(table.match(method, path) == .otherMethod(allowed: allowed))
    }
}

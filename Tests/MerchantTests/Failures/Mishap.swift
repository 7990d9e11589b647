import BelvoSandbox

/// A way in which a call to Belvo goes wrong.
struct Mishap: Sendable {
    let name: String
    let fault: Fault

    /// All of them, each of which may mean something of its own. What is huge or slow comes to nothing else than what
    /// is late or breaks off.
    static let all = [
        Mishap("the request is lost", .dropRequest),
        Mishap("the answer is lost", .dropAnswer),
        Mishap("the answer is late", .delayAnswer(.milliseconds(3_000))),
        Mishap("the answer breaks off", .truncated(9)),
        Mishap("no HTTP", .garbage),
        Mishap("no JSON", .garbageBody),
        Mishap("no id", .missingID),
        Mishap("an unknown status", .unknownStatus),
        Mishap("another amount", .otherAmount),
        Mishap("another customer", .otherCustomer),
        Mishap("another's external_id", .otherExternalID),
        Mishap("302", .redirect(to: "https://elsewhere.example/")),
        Mishap("400", .refused(400, code: "invalid")),
        Mishap("401", .refused(401, code: "authentication_failed")),
        Mishap("403, the firewall's page", .forbiddenPage),
        Mishap("404", .refused(404, code: "not_found")),
        Mishap("408", .refused(408, code: "timeout")),
        Mishap("409", .refused(409, code: "conflict")),
        Mishap("422", .refused(422, code: "unprocessable")),
        Mishap("429", .tooManyRequests(retryAfter: 2)),
        Mishap("500, not done", .refused(500, code: "unexpected_error")),
        Mishap("500, done", .statusAfter(500)),
        Mishap("503", .refused(503, code: "unavailable")),
    ]

    private init(_ name: String, _ fault: Fault) {
        self.name = name
        self.fault = fault
    }
}

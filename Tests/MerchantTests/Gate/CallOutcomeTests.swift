import HTTP
import Testing

@testable import BelvoGate

/// The meaning of one exchange for Belvo as a whole.
@Suite struct CallOutcomeTests {
    @Test(arguments: [
        (200, "{}", "answered", false), (201, " \n[]", "answered", false), (204, "", "answered", false),
        (200, "<html>", "nonsense", true), (200, "OK", "nonsense", true), (200, #"{"id": tru"#, "nonsense", true),
        (302, "", "nonsense", true),
        (400, "[]", "refused", false), (404, "[]", "refused", false), (409, "[]", "refused", false),
        (422, "[]", "refused", false), (425, "", "refused", false), (499, "", "refused", false),
        (401, "[]", "denied", false), (403, "<html>", "denied", false), (429, "[]", "throttled", false),
        (408, "", "failed", true), (500, "[]", "failed", true), (503, "", "failed", true), (599, "", "failed", true),
    ])
    func `each status is sorted by whose trouble it is`(
        status: Int, body: String, outcome: String, isOutage: Bool
    ) {
        let ended = CallOutcome(Response(HTTP.Status(status), body: Array(body.utf8)))
        #expect(ended.kind.rawValue == outcome)
        #expect(ended.speaksOfOutage == isOutage)
    }

    @Test(arguments: [
        (ClientError.notSent(reason: "refused"), "not_sent"), (.timedOut, "timed_out"),
        (.answerLost(reason: "reset"), "lost"),
    ])
    func `no answer at all is an outage`(error: ClientError, outcome: String) {
        #expect(CallOutcome(error).kind.rawValue == outcome)
        #expect(CallOutcome(error).speaksOfOutage)
    }

    @Test func `a 429 says how long to stay away`() {
        #expect(CallOutcome(Response(.tooManyRequests, headers: ["retry-after": "7"])).retryAfter == .seconds(7))
    }
}

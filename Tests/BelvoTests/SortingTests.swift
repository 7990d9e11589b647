import Belvo
import HTTP
import Testing

/// The table of calls and outcomes, walked through every method of the client. Each cell is the case of
/// `BelvoError` that is thrown; nothing is ever sent a second time.
struct SortingTests {
    @Test(arguments: Operation.all)
    func `every outcome of every call means what the table says`(operation: Operation) async throws {
        for row in SortingTests.table {
            let belvo = Upstream(row.outcome)
            let expected = row.meaning(for: operation.call)
            do {
                try await operation.perform(belvo.client())
                #expect(expected == "notYet", "\(row.name)")
            } catch let error as BelvoError {
                #expect(SortingTests.name(error) == expected, "\(row.name)")
            }
            #expect(belvo.requests.count == 1, "\(row.name)")
        }
    }

    @Test func `no status is left out, and none of Belvo's own troubles fails a call that may have worked`() {
        for code in (100...199).map(\.self) + Array(300...599) {
            for call in Call.allCases {
                let name = SortingTests.name(BelvoError(.status(ErrorResponse(status: code)), to: call))
                let changes = [.creating, .moving].contains(call.kind)
                switch code {
                case 408, 460, 499, 500...599: #expect(name == (changes ? "outcomeUnknown" : "unanswered"))
                case ..<400: #expect(name == (changes ? "outcomeUnknown" : "nonsense"))
                default: break
                }
                #expect(changes || name != "outcomeUnknown", "a call that changes nothing has no outcome")
                #expect(!changes || !["unanswered", "nonsense"].contains(name), "a change may have happened")
            }
        }
    }

    @Test func `what went wrong is told beside what it means`() async throws {
        let lost = BelvoError(.answerLost(reason: "reset"), to: .authorizePaymentIntent)
        #expect(lost == .outcomeUnknown(.lost(reason: "reset")))
        #expect(BelvoError(.timedOut, to: .readEnrollment) == .unanswered(.late))
        #expect(BelvoError(.notSent(reason: "refused"), to: .confirmEnrollment) == .unreachable(reason: "refused"))
        #expect(
            BelvoError(.unusable(reason: "x"), to: .createCustomer) == .outcomeUnknown(.malformedAnswer(reason: "x")))
        #expect(BelvoError(.unusable(reason: "x"), to: .readCustomer) == .malformedAnswer(reason: "x"))
        let away = ErrorResponse(status: 503, requestID: "r", retryAfter: .seconds(3))
        #expect(BelvoError(.status(away), to: .createEnrollment) == .outcomeUnknown(.failed(away)))
        #expect(BelvoError(.status(away), to: .findPaymentIntents) == .unanswered(.failed(away)))
    }

    private struct Row {
        let name: String
        let outcome: Result<Response, any Error>
        let creating, moving, reading, listing: String
        /// For registration options, where it differs from any other reading.
        var options: String?

        func meaning(for call: Call) -> String {
            if call == .readRegistrationOptions, let options { return options }
            // Belvo looks the bank's `state` up: not to know it is its answer, and a final one.
            if call == .completeRedirection, moving == "notFound" { return "refused" }
            return switch call.kind {
            case .creating: creating
            case .moving: moving
            case .reading: reading
            case .listing: listing
            }
        }
    }

    private static func status(
        _ code: Int, _ creating: String, _ moving: String, _ reading: String, _ listing: String, options: String? = nil
    ) -> Row {
        Row(
            name: "status \(code)", outcome: reply(code, "<html>"), creating: creating, moving: moving,
            reading: reading, listing: listing, options: options
        )
    }

    private static func failure(_ name: String, _ error: any Error, _ changing: String, _ asking: String) -> Row {
        Row(
            name: name, outcome: .failure(error), creating: changing, moving: changing, reading: asking,
            listing: asking
        )
    }

    // swift-format-ignore
    private static let table: [Row] = [
        //          creating          moving            reading       listing
        failure("not sent", ClientError.notSent(reason: "refused"), "unreachable", "unreachable"),
        failure("answer lost", ClientError.answerLost(reason: "reset"), "outcomeUnknown", "unanswered"),
        failure("timed out", ClientError.timedOut, "outcomeUnknown", "unanswered"),
        failure("cancelled", CancellationError(), "outcomeUnknown", "unanswered"),
        status(301, "outcomeUnknown", "outcomeUnknown", "nonsense",   "nonsense"),
        status(302, "outcomeUnknown", "outcomeUnknown", "nonsense",   "nonsense"),
        status(304, "outcomeUnknown", "outcomeUnknown", "nonsense",   "nonsense"),
        status(307, "outcomeUnknown", "outcomeUnknown", "nonsense",   "nonsense"),
        status(308, "outcomeUnknown", "outcomeUnknown", "nonsense",   "nonsense"),
        status(400, "refused",        "refused",        "refused",    "refused"),
        status(401, "denied",         "denied",         "denied",     "denied"),
        status(403, "denied",         "denied",         "denied",     "denied"),
        status(404, "refused",        "notFound",       "notFound",   "refused",  options: "notYet"),
        status(405, "refused",        "refused",        "refused",    "refused"),
        status(408, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(409, "conflict",       "conflict",       "conflict",   "conflict", options: "notYet"),
        status(410, "refused",        "notFound",       "notFound",   "refused",  options: "notYet"),
        status(413, "refused",        "refused",        "refused",    "refused"),
        status(415, "refused",        "refused",        "refused",    "refused"),
        status(418, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(422, "refused",        "refused",        "refused",    "refused"),
        status(425, "throttled",      "throttled",      "throttled",  "throttled", options: "notYet"),
        status(429, "throttled",      "throttled",      "throttled",  "throttled"),
        status(431, "refused",        "refused",        "refused",    "refused"),
        status(499, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(500, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(501, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(502, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(503, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(504, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
        status(520, "outcomeUnknown", "outcomeUnknown", "unanswered", "unanswered"),
    ]

    private static func name(_ error: BelvoError) -> String {
        switch error {
        case .refused: "refused"
        case .denied: "denied"
        case .notFound: "notFound"
        case .conflict: "conflict"
        case .throttled: "throttled"
        case .unreachable: "unreachable"
        case .unanswered: "unanswered"
        case .malformedAnswer: "nonsense"
        case .outcomeUnknown: "outcomeUnknown"
        }
    }
}

import BelvoSandbox
import HTTP
import Testing

/// A fault between the server and Belvo in one call, sorted by what may be concluded from it.
enum Trouble {
    /// A call whose outcome is not known: with the fault, and whether Belvo did what was asked.
    struct UnknownOutcome: Sendable, CustomTestStringConvertible {
        let name: String
        let fault: Fault
        let isDone: Bool

        var testDescription: String { name }
    }

    /// A call that certainly had no effect: with the fault, and what the app is told.
    struct TurnedAway: Sendable, CustomTestStringConvertible {
        let name: String
        let fault: Fault
        let status: Int
        let code: String

        var testDescription: String { name }
    }

    static let doubts = [
        UnknownOutcome(name: "dropped before", fault: .dropRequest, isDone: false),
        UnknownOutcome(name: "dropped after", fault: .dropAnswer, isDone: true),
        UnknownOutcome(name: "500 before", fault: .refused(500, code: "unexpected"), isDone: false),
        UnknownOutcome(name: "500 after", fault: .statusAfter(500), isDone: true),
        UnknownOutcome(name: "no HTTP", fault: .garbage, isDone: true),
        UnknownOutcome(name: "no JSON", fault: .garbageBody, isDone: true),
    ]

    /// Only for calls that are answered with an object.
    static let missingID = UnknownOutcome(name: "id missing", fault: .missingID, isDone: true)

    static let turnedAway = [
        TurnedAway(
            name: "429", fault: .tooManyRequests(retryAfter: 7), status: 503, code: "belvo_unavailable"),
        TurnedAway(
            name: "401", fault: .refused(401, code: "authentication_failed"), status: 502, code: "belvo_denied"),
        TurnedAway(name: "the firewall's page", fault: .forbiddenPage, status: 502, code: "belvo_denied"),
    ]
}

extension Trouble.TurnedAway {
    /// Whether the app was told so, and when it may come again where that is known. Then that time passes for the gate.
    func expectTold(on harness: TestHarness, _ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        defer { harness.clock.advance(by: .seconds(10)) }
        #expect(answer.status == status, "\(name): \(answer.text)", sourceLocation: sourceLocation)
        #expect(try answer.string("code") == code, sourceLocation: sourceLocation)
        if case .status(429, _, _, _) = fault {
            #expect(answer.response.headers["retry-after"] == "7", sourceLocation: sourceLocation)
        }
    }
}

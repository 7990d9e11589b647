import BelvoSandbox

extension Fault {
    /// The same in the sandbox's words, where it is the sandbox that does it.
    var atSandbox: BelvoSandbox.Fault? {
        switch self {
        case .belvo400, .heldUpAfterRefusal: .refused(400, code: "invalid")
        case .belvo401: .refused(401, code: "authentication_failed")
        case .belvo403: .forbiddenPage
        case .belvo404: .refused(404, code: "not_found")
        case .belvo408: .refused(408, code: "timeout")
        case .belvo409: .refused(409, code: "conflict")
        case .belvo429: .tooManyRequests(retryAfter: nil)
        case .belvo500: .refused(500, code: "unexpected")
        case .belvo500After: .statusAfter(500)
        case .belvoTruncated: .truncated(20)
        case .belvoMalformedAnswer: .garbageBody
        case .belvoWithoutID: .missingID
        case .belvoNewWord: .unknownStatus
        default: nil
        }
    }
}

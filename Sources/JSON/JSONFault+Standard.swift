/// The faults that readers find by themselves, still without their places.
extension JSONFault {
    static let required = JSONFault(code: Code.required, message: "This is required.")
    static let unknownMember = JSONFault(code: Code.unknownMember, message: "There is no such member here.")

    /// The kind that was expected, with its article.
    static func wrongType(_ expected: String) -> JSONFault {
        JSONFault(code: Code.wrongType, message: "This must be \(expected).")
    }

    static func tooLong(max: Int) -> JSONFault {
        JSONFault(code: Code.tooLong, message: "This must have at most \(characters(max)).")
    }

    static func tooShort(min: Int) -> JSONFault {
        JSONFault(code: Code.tooShort, message: "This must have at least \(characters(min)).")
    }

    static func notAllowed(_ allowed: [String]) -> JSONFault {
        JSONFault(code: Code.notAllowed, message: "This must be one of: \(allowed.joined(separator: ", ")).")
    }

    private static func characters(_ count: Int) -> String {
        count == 1 ? "1 character" : "\(count) characters"
    }
}

extension String {
    /// This JSON Pointer with one more token, whose `~` and `/` are escaped (RFC 6901 §3).
    func appendingToken(_ token: String) -> String {
        var pointer = self + "/"
        for scalar in token.unicodeScalars {
            switch scalar {
            case "~": pointer += "~0"
            case "/": pointer += "~1"
            default: pointer.unicodeScalars.append(scalar)
            }
        }
        return pointer
    }
}

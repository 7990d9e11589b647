import HTTP
import JSON

/// A fault that is injected into a call.
public enum Fault: Sendable, Equatable {
    /// This answer instead of Belvo's; the call is not worked on. `headers` go out as they are.
    case status(Int, body: String, contentType: String, headers: [String: String])
    /// The call is worked on, and this answer goes out instead of Belvo's.
    case statusAfter(Int)
    /// The connection is closed; the call is not worked on.
    case dropRequest
    /// The call is worked on, and the connection is closed.
    case dropAnswer
    /// The call is worked on only after a while.
    case delayRequest(Duration)
    /// The call is worked on at once, and the answer leaves after a while.
    case delayAnswer(Duration)
    /// The call is worked on, and the answer ends after that many bytes.
    case truncated(Int)
    /// The call is worked on, and the answer's `content-length` is off by that many.
    case contentLength(offBy: Int)
    /// The call is worked on, and bytes that are no HTTP come back.
    case garbage
    /// The call is worked on, and the answer is 200 with a body that is no JSON.
    case garbageBody
    /// The call is worked on, and the answer has that many bytes of JSON.
    case huge(Int)
    /// The call is worked on, and the answer comes that many bytes a second.
    case slow(bytesPerSecond: Int)
    /// The call is worked on, and the answer is changed at these places.
    case altered([Alteration])

    /// One change to an answer: the value at a JSON Pointer, of which a token `*` means every element.
    /// Nil takes the member out.
    public struct Alteration: Sendable, Equatable {
        /// RFC 6901; `""` is the whole answer.
        public var pointer: String
        /// JSON text.
        public var value: String?

        public init(_ pointer: String, _ value: String?) {
            self.pointer = pointer
            self.value = value
        }
    }
}

/// The faults that have a name of their own.
extension Fault {
    /// The firewall's HTML page (belvo-api.md §1).
    public static let forbiddenPage = Fault.status(
        403, body: Page.firewall(.forbidden), contentType: "text/html", headers: [:])

    /// Belvo throttles: nothing was done.
    public static func tooManyRequests(retryAfter seconds: Int?) -> Fault {
        .status(
            429, body: errorArray("throttled", message: "Request was throttled."),
            contentType: "application/json", headers: seconds.map { ["retry-after": String($0)] } ?? [:])
    }

    /// An error in Belvo's form that says that nothing was done.
    public static func refused(_ status: Int, code: String) -> Fault {
        .status(
            status, body: errorArray(code, message: "Refused."),
            contentType: "application/json", headers: [:])
    }

    /// An answer that must not be followed.
    public static func redirect(to location: String) -> Fault {
        .status(302, body: "", contentType: "text/html", headers: ["location": location])
    }

    /// The answer lacks its `id`.
    public static let missingID = everywhere("id", nil)
    /// A status that no document has.
    public static let unknownStatus = everywhere("status", #""SOMETHING_NEW""#)
    /// The amount is one centavo.
    public static let otherAmount = everywhere("amount", #""0.01""#)
    /// The currency is not BRL.
    public static let otherCurrency = everywhere("currency", #""USD""#)
    /// The customer is another one, on enrollments and intents.
    public static let otherCustomer = Fault.altered(
        bothShapes("/customer", otherUUID) + bothShapes("/details/customer", otherUUID))
    /// The money goes to another account.
    public static let otherBeneficiary = Fault.altered(
        bothShapes("/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account", otherUUID))
    /// Another enrollment pays.
    public static let otherEnrollment = Fault.altered(
        bothShapes("/payment_method_details/open_finance_biometric_pix/enrollment", otherUUID))
    /// The answer is of another request.
    public static let otherExternalID = everywhere("external_id", otherUUID)
    /// A `next` link to another origin, which must not be followed.
    public static func foreignNext(_ url: String) -> Fault { .altered([Alteration("/next", "\"\(url)\"")]) }

    private static func errorArray(_ code: String, message: String) -> String {
        let bytes = JSONWriter.array { array in
            array.object { item in
                item.member("request_id", "00000000000000000000000000000000")
                item.member("message", message)
                item.member("code", code)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let otherUUID = #""99999999-9999-4999-8999-999999999999""#

    /// A member of the object, or of each object of a list in either shape.
    private static func everywhere(_ name: String, _ value: String?) -> Fault {
        .altered(bothShapes("/\(name)", value))
    }

    private static func bothShapes(_ pointer: String, _ value: String?) -> [Alteration] {
        ["", "/results/*", "/*"].map { Alteration($0 + pointer, value) }
    }
}

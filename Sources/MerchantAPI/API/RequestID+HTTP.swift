import Belvo
import HTTP
import MerchantModel

extension RequestID {
    static let lengthMax = 128
    static let field: HeaderName = "x-request-id"

    /// The client's own, where it is a sane token.
    static func taken(from request: Request) -> String? {
        guard let id = request.headers[field], (1...lengthMax).contains(id.utf8.count),
            id.utf8.allSatisfy(isPlain)
        else { return nil }
        return id
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension TraceParent {
    private static let field: HeaderName = "traceparent"

    /// The trace that the request belongs to, where its header names one.
    init?(of request: Request) {
        guard let text = request.headers[Self.field] else { return nil }
        self.init(text)
    }
}

import Belvo
import HTTP

/// The meaning of one exchange's end for Belvo as a whole, and not about the object that it was about.
package struct CallOutcome: Sendable, Equatable {
    /// How an exchange ended, as it is counted.
    package enum Kind: String, Sendable, CaseIterable {
        /// 2xx with a body that may be an answer.
        case answered
        /// Any 4xx that is about one request or object.
        case refused
        /// 401 or 403.
        case denied
        /// 429.
        case throttled
        /// 408 or 5xx.
        case failed
        /// A redirect, or a success in anything but JSON: not Belvo's API speaks here.
        case malformedAnswer = "nonsense"
        case timedOut = "timed_out"
        /// The answer broke off, or was not HTTP.
        case lost
        /// It could not be sent: refused, unresolved, TLS.
        case notSent = "not_sent"
        /// The gate did not send it.
        case heldBack = "held_back"
    }

    let kind: Kind
    /// The status, where there was one.
    var status: Int?
    /// How long Belvo asks to be left alone.
    var retryAfter: Duration?

    /// Whether this is how calls end when Belvo is away.
    var speaksOfOutage: Bool {
        switch kind {
        case .failed, .malformedAnswer, .timedOut, .lost, .notSent: true
        case .answered, .refused, .denied, .throttled, .heldBack: false
        }
    }

    init(_ kind: Kind, status: Int? = nil, retryAfter: Duration? = nil) {
        self.kind = kind
        self.status = status
        self.retryAfter = retryAfter
    }

    init(_ response: Response) {
        let status = response.status.code
        switch status {
        case 200...299: self.init(response.body.mayBeJSON ? .answered : .malformedAnswer, status: status)
        case 401, 403: self.init(.denied, status: status)
        case 408: self.init(.failed, status: status)
        case 429: self.init(.throttled, status: status, retryAfter: RetryAfter.read(response.headers))
        case 400...499: self.init(.refused, status: status)
        case 500...599: self.init(.failed, status: status)
        default: self.init(.malformedAnswer, status: status)
        }
    }

    init(_ error: any Error) {
        switch error as? ClientError {
        case .notSent: self.init(.notSent)
        case .timedOut: self.init(.timedOut)
        case .answerLost, nil: self.init(.lost)
        }
    }
}

extension [UInt8] {
    /// Whether its ends allow it to be an object or a list, or there is nothing at all. A maintenance page that comes
    /// with 200 begins otherwise, and what was cut off ends otherwise.
    fileprivate var mayBeJSON: Bool {
        guard let first = first(where: { !$0.isBlank }), let last = last(where: { !$0.isBlank }) else { return true }
        return switch (first, last) {
        case (UInt8(ascii: "{"), UInt8(ascii: "}")), (UInt8(ascii: "["), UInt8(ascii: "]")): true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}

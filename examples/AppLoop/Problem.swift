import Foundation

/// The server's reason for not doing what it was asked (RFC 9457).
public struct Problem: Error, Decodable, Sendable {
    public let status: Int
    /// Stable, to be compared: `enrollment_not_usable`, `amount_differs`, …
    public let code: String
    /// One English sentence for developers.
    public let detail: String
    /// For questions to the merchant's operators.
    public let requestID: String?
    /// The payment that is in the way of a new one for the same reference.
    public let paymentIntent: String?
    /// Every fault of the request.
    public let errors: [Fault]?

    public struct Fault: Decodable, Sendable {
        /// A JSON Pointer into the request.
        public let field: String
        public let code: String
        public let message: String
    }

    private enum CodingKeys: String, CodingKey {
        case status, code, detail, errors
        case requestID = "request_id"
        case paymentIntent = "payment_intent"
    }

    /// Whether saying the same again would change nothing.
    var isFinal: Bool { [400, 404, 409, 413, 415, 422].contains(status) && code != "in_progress" }
}

extension Problem {
    /// What was answered, also by something between the app and the server that knows no problems.
    init(_ answer: Answer) {
        // What it is instead does not matter: the status says enough.
        let described = try? JSONDecoder().decode(Problem.self, from: answer.body)
        self = described ?? Problem(status: answer.status)
    }

    private init(status: Int) {
        self.status = status
        code = "http_\(status)"
        detail = "The answer is no problem document."
        requestID = nil
        paymentIntent = nil
        errors = nil
    }
}

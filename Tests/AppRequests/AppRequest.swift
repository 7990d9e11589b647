import HTTP
import JSON

/// A request of an app to this server, in the words of docs/merchant-api.md: the one place where tests, simulation,
/// chaos and load have them.
public struct AppRequest: Sendable {
    public let method: HTTP.Method
    public let path: String
    /// JSON; empty when there is no body.
    public let body: [UInt8]
    /// The `Idempotency-Key`.
    public let key: String?

    private init(_ method: HTTP.Method, _ path: String, body: [UInt8] = [], key: String? = nil) {
        self.method = method
        self.path = path
        self.body = body
        self.key = key
    }

    /// The request as the app of the user with this token sends it.
    public func message(token: String) -> Request {
        var request = Request(
            method, Target(stringLiteral: path), headers: ["authorization": "Bearer \(token)"], body: body)
        if !body.isEmpty { request.headers.append("content-type", "application/json") }
        if let key { request.headers.append("idempotency-key", key) }
        return request
    }
}

extension AppRequest {
    public static let readInstitutions = AppRequest(.get, "/v1/institutions")

    /// The user's name and tax number, as Belvo is to know them.
    public static func putCustomer(name: String, taxNumber: String) -> AppRequest {
        AppRequest(
            .put, "/v1/customer",
            body: JSONWriter.object {
                $0.member("name", name)
                $0.member("identifier", taxNumber)
            })
    }

    public static let createWidgetToken = AppRequest(.post, "/v1/widget-token")

    /// Binds a phone to an account at a bank; `riskSignals` is a JSON object.
    public static func createEnrollment(
        institution: String, riskSignals: [UInt8], key: String? = nil
    ) -> AppRequest {
        AppRequest(
            .post, "/v1/enrollments",
            body: JSONWriter.object {
                $0.member("institution", institution)
                $0.member("platform", "IOS")
                $0.member("name", "Phone")
                $0.memberRaw("risk_signals", riskSignals)
            }, key: key)
    }

    public static func readEnrollment(_ id: String) -> AppRequest { AppRequest(.get, "/v1/enrollments/\(id)") }

    /// Passes on what the bank handed to the app, a JSON object.
    public static func completeRedirection(_ parameters: [UInt8]) -> AppRequest {
        AppRequest(.post, "/v1/enrollments/complete-redirection", body: parameters)
    }

    public static func readRegistrationOptions(of enrollment: String) -> AppRequest {
        AppRequest(.get, "/v1/enrollments/\(enrollment)/fido-registration-options")
    }

    /// Passes on what the phone has made of the registration options, a JSON object.
    public static func confirmEnrollment(_ id: String, confirmationData: [UInt8]) -> AppRequest {
        AppRequest(
            .post, "/v1/enrollments/\(id)/confirm",
            body: JSONWriter.object { $0.memberRaw("confirmation_data", confirmationData) })
    }

    /// Opens a payment. Without an amount the shop's order says how much.
    public static func createPayment(
        from enrollment: String, reference: String?, amount: String? = "19.90", key: String
    ) -> AppRequest {
        AppRequest(
            .post, "/v1/payment-intents",
            body: JSONWriter.object {
                $0.member("enrollment", enrollment)
                if let reference { $0.member("reference", reference) }
                if let amount {
                    $0.member("amount", amount)
                    $0.member("description", "Two coffees")
                }
            }, key: key)
    }

    public static func readPayment(_ id: String) -> AppRequest { AppRequest(.get, "/v1/payment-intents/\(id)") }

    /// Passes on the phone's signature; both are JSON objects.
    public static func authorizePayment(_ id: String, riskSignals: [UInt8], assertion: [UInt8]) -> AppRequest {
        AppRequest(
            .post, "/v1/payment-intents/\(id)/authorize",
            body: JSONWriter.object {
                $0.memberRaw("risk_signals", riskSignals)
                $0.memberRaw("assertion", assertion)
            })
    }

    public static func cancelPayment(_ id: String) -> AppRequest {
        AppRequest(.post, "/v1/payment-intents/\(id)/cancel")
    }
}

import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// An app's way to the server, with its user's token: of a phone's enrollment as it goes while nothing fails.
public struct AppConnection: Sendable {
    public let token: String
    private let carry: @Sendable (Request) async throws -> Response

    /// `carry` takes a request to the server and gives the answer.
    public init(token: String, carry: @escaping @Sendable (Request) async throws -> Response) {
        self.token = token
        self.carry = carry
    }

    /// Sends a request and gives the answer, whatever it is. Throws when there is none.
    public func ask(_ request: AppRequest) async throws -> AppAnswer {
        AppAnswer(try await carry(request.message(token: token)))
    }

    /// The answer's body; null for none. Throws unless the server did as asked.
    @discardableResult
    public func expect(_ request: AppRequest) async throws -> JSONValue {
        let answer = try await ask(request)
        guard answer.isSuccess else { throw Unexpected(request, answer) }
        return try JSONDocument(parsing: answer.body.isEmpty ? Array("null".utf8) : answer.body).root
    }

    /// Reads a resource until it is as wanted, pausing as the server says, for half a minute at most.
    @discardableResult
    public func look(_ request: AppRequest, until isWanted: (JSONValue) throws -> Bool) async throws -> JSONValue {
        let deadline = Monotonic.now() + .seconds(30)
        while true {
            let resource = try await expect(request)
            if try isWanted(resource) { return resource }
            guard Monotonic.now() < deadline else { throw Unexpected("it does not come to its end", resource) }
            // Without a pause of its own something else is waited for: the bank, or a worker.
            let pause = resource["next_action"]?["after_ms"]?.int64 ?? 100
            try await EventLoop.current?.sleep(for: .milliseconds(pause))
        }
    }
}

/// A phone that is bound to an account, with what its app keeps.
public struct EnrolledPhone: Sendable {
    public var phone: Phone
    public let enrollment: String
    public let riskSignals: [UInt8]
}

extension AppConnection {
    /// The user becomes a customer, with a name and a tax number made of `number`; gives the first bank there is and
    /// the risk signals of the phone.
    public func introduce(_ number: Int, with phone: Phone) async throws -> (institution: String, riskSignals: [UInt8])
    {
        let banks = try await expect(.readInstitutions)
        guard let institution = banks["results"]?.elements.first(where: { _ in true })?["id"]?.string else {
            throw Unexpected("no bank", banks)
        }
        let customer = try await expect(.putCustomer(name: "User \(number)", taxNumber: TaxNumber.cpf(number)))
        guard let tenure = customer["account_tenure"]?.string else {
            throw Unexpected("a customer without tenure", customer)
        }
        return (institution, phone.riskSignals(accountTenure: tenure))
    }

    /// From a new user to an enrollment that can pay.
    ///
    /// `approve` is the user's visit to the bank: it takes the enrollment as it was answered, and gives what the bank
    /// hands to the app, or nil when that has reached the server by another way.
    public func enroll(
        _ number: Int, with phone: Phone = Phone(), approve: (_ enrollment: JSONValue) async throws -> [UInt8]?
    ) async throws -> EnrolledPhone {
        var phone = phone
        let (institution, riskSignals) = try await introduce(number, with: phone)
        let begun = try await expect(.createEnrollment(institution: institution, riskSignals: riskSignals))
        guard let id = begun["id"]?.string else { throw Unexpected("an enrollment without id", begun) }
        if let handed = try await approve(begun) { try await expect(.completeRedirection(handed)) }
        let ready = try await look(.readEnrollment(id)) { $0["next_action"]?["fido_registration_options"] != nil }
        guard let options = ready["next_action"]?["fido_registration_options"] else {
            throw Unexpected("no options", ready)
        }
        try await expect(.confirmEnrollment(id, confirmationData: try phone.register(options)))
        try await look(.readEnrollment(id)) { try $0.hasSucceeded }
        return EnrolledPhone(phone: phone, enrollment: id, riskSignals: riskSignals)
    }
}

extension JSONValue {
    /// Whether an enrollment or a payment has come to a good end; throws at a bad one.
    public var hasSucceeded: Bool {
        get throws {
            switch self["status"]?.string {
            case "SUCCEEDED": true
            case "PENDING": false
            default: throw Unexpected("a failure", self)
            }
        }
    }
}

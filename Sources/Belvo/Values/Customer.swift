/// A person or company that pays, as Belvo knows it (belvo-api.md §3.1).
public struct Customer: Sendable, Equatable, Redacted {
    public typealias ID = Identity<Customer>

    public let id: ID
    /// The identity that we gave it; Belvo may leave it out, and does not promise that it is unique.
    public let externalID: String?
    public let name: String?
    /// The CPF or CNPJ, masked by Belvo: `23******00`.
    public let identifier: String?
    /// ISO 8601 as Belvo wrote it. Its day is the `accountTenure` that risk signals are collected with.
    public let createdAt: String?

    public var description: String { "customer \(id)" }
}

extension Customer {
    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        externalID = try answer.exact("external_id")
        name = answer.plain("name")
        identifier = answer.plain("identifier", scalarsMax: 40)
        createdAt = try answer.exact("created_at", bytesMax: 40)
    }
}

/// The members with which a customer is created.
public struct NewCustomer: Sendable, Redacted {
    /// The identity under which the customer can be found again.
    public var externalID: String
    /// A CPF of 11 digits or a CNPJ of 14 characters, without punctuation.
    public var identifier: String
    public var name: String
    public var email: String?
    public var phone: String?

    public init(externalID: String, identifier: String, name: String, email: String? = nil, phone: String? = nil) {
        self.externalID = externalID
        self.identifier = identifier
        self.name = name
        self.email = email
        self.phone = phone
    }
}

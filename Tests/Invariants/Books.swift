import JSON
import Postgres

/// A payment as its row has it.
public struct PaymentRow: Sendable {
    public let id: String
    public let subject: String
    /// The payment's id where the shop named none.
    public let reference: String
    public let state: String
    /// The state as the history calls it.
    public let historyState: String
    public let failureCode: String?
    public let belvoID: String?
    /// In reais, such as `19.90`.
    public let amount: String
    /// Whether it is remembered that a signature went to Belvo.
    public let wasAuthorizeSent: Bool
    /// Whether the signature that Belvo took, or may take, is remembered.
    public let isSigned: Bool

    /// The columns that `init` reads, of `payments`.
    public static let columns: SQL = """
        id::text, subject, coalesce(reference, id::text) AS reference, state, failure_code, belvo_id::text,
        CASE WHEN in_doubt THEN 'in_doubt' ELSE state END AS history_state,
        (amount_centavos / 100.0)::numeric(18, 2)::text AS amount,
        authorize_sent_at IS NOT NULL AS was_authorize_sent, assertion_digest IS NOT NULL AS is_signed
        """

    public init(_ row: Row) throws {
        id = try row.decode("id")
        subject = try row.decode("subject")
        reference = try row.decode("reference")
        state = try row.decode("state")
        historyState = try row.decode("history_state")
        failureCode = try row.decode("failure_code")
        belvoID = try row.decode("belvo_id")
        amount = try row.decode("amount")
        wasAuthorizeSent = try row.decode("was_authorize_sent")
        isSigned = try row.decode("is_signed")
    }

    /// The purchase, which may be paid once.
    var purchase: String { "\(subject)/\(reference)" }
}

/// A line of `state_history`.
public struct HistoryLine: Sendable {
    public let recordType: String
    public let recordID: String
    public let before: String?
    public let after: String

    /// In the order of happening.
    public static let all: SQL = """
        SELECT record_type, record_id::text, state_before, state_after FROM state_history ORDER BY state_history.id
        """

    public init(_ row: Row) throws {
        recordType = try row.decode("record_type")
        recordID = try row.decode("record_id")
        before = try row.decode("state_before")
        after = try row.decode("state_after")
    }
}

/// The payment intents that Belvo has under one `external_id`.
public struct IntentsOfPayment: Sendable {
    public let externalID: String
    public var ids: [String]
    /// How many were authorized by this server.
    public var authorized: Int
    /// How many of those were paid.
    public var paid: Int
    /// How many were paid that a token for the SDK had signed.
    public var paidElsewhere: Int
    /// Whether Belvo has taken its last status of one of them back.
    public var isContradicted: Bool

    public init(
        externalID: String, ids: [String], authorized: Int, paid: Int, paidElsewhere: Int = 0,
        isContradicted: Bool = false
    ) {
        self.externalID = externalID
        self.ids = ids
        self.authorized = authorized
        self.paid = paid
        self.paidElsewhere = paidElsewhere
        self.isContradicted = isContradicted
    }
}

/// A success that an app has heard.
public struct ToldAnswer: Sendable {
    public let subject: String
    public let path: String
    public let key: String?
    public let status: Int
    public let isReplayed: Bool
    public let request: [UInt8]
    public let body: [UInt8]

    public init(
        subject: String, path: String, key: String?, status: Int, isReplayed: Bool, request: [UInt8], body: [UInt8]
    ) {
        self.subject = subject
        self.path = path
        self.key = key
        self.status = status
        self.isReplayed = isReplayed
        self.request = request
        self.body = body
    }

    var json: JSONValue? { try? JSONDocument(parsing: body).root }
    var keyName: String? { key.map { "\(subject) \(path) \($0)" } }
    /// The record that the path names before the operation.
    var record: String { path.split(separator: "/").dropLast().last.map(String.init) ?? "" }
}

import FoundationEssentials
import HTTP
import JSON
import MerchantWorkflows
import Payments
import Transport

/// One request on its way through the API: its content, its sender and its id.
struct Inbound: Sendable {
    let request: Request
    let requestID: String
    /// The client's address, as far as it can be trusted.
    let client: IPAddress
    /// The text that stands for the name in braces in the path.
    var pathID: String?
    /// The user whose request it is, once that is known.
    var user: UserSubject?

    /// The body as one JSON object, whose reader gathers every fault.
    func json() throws -> JSONReader {
        try requireMediaType("application/json")
        return JSONReader(try JSONDocument(parsing: request.body).root)
    }

    /// The id in the path; anything that is no id names nothing.
    func id<Record>(_: Record.Type = Record.self) throws(APIError) -> ID<Record> {
        guard let pathID, let id = ID<Record>(pathID) else { throw .notFound }
        return id
    }

    func requireMediaType(_ wanted: String) throws(APIError) {
        let sent = request.headers["content-type"] ?? ""
        let type = sent.prefix { $0 != ";" }.lowercased().trimmingSpaces
        guard type == wanted else {
            throw APIError(.unsupportedMediaType, .unsupportedMediaType, "The body has to be \(wanted).")
        }
    }

    /// The query's parameters, each of them known and given once.
    func query(_ known: Set<String>) throws -> Query {
        let fields = try FormFields(parsing: request.target.query ?? "")
        let names = known.sorted().joined(separator: ", ")
        var faults: [JSONFault] = []
        var seen: Set<String> = []
        for name in fields.names where faults.count < JSONReader.faultsMax {
            if !known.contains(where: name.isSameBytes) {
                faults.append(
                    JSONFault(
                        pointer: "?\(name)", code: "unknown_parameter",
                        message: known.isEmpty ? "There are no parameters here." : "Known parameters: \(names)."))
            } else if !seen.insert(name).inserted {
                faults.append(JSONFault(pointer: "?\(name)", code: "repeated", message: "This was given twice."))
            }
        }
        guard faults.isEmpty else { throw APIError.invalid(faults) }
        return Query(fields: fields)
    }
}

/// The parameters of a list.
struct Query {
    static let limitDefault = 20
    static let limits = 1...100
    /// In seconds. Less than the time after which phones, and what stands between, give a connection up.
    static let waits = 1...30

    let fields: FormFields

    subscript(name: String) -> String? { fields[name] }

    /// How many results are wanted.
    func limit() throws(APIError) -> Int {
        guard let text = fields["limit"] else { return Query.limitDefault }
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let limit = Int(text), Query.limits.contains(limit)
        else {
            throw .invalid(
                "?limit", "out_of_range", "The limit is \(Query.limits.lowerBound) to \(Query.limits.upperBound).")
        }
        return limit
    }

    /// How long a change may be waited for; nothing where the answer is wanted at once.
    func wait() throws(APIError) -> Duration? {
        guard let text = fields["wait"] else { return nil }
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let seconds = Int(text),
            Query.waits.contains(seconds)
        else {
            throw .invalid(
                "?wait", "out_of_range",
                "A wait is \(Query.waits.lowerBound) to \(Query.waits.upperBound) whole seconds.")
        }
        return .seconds(seconds)
    }

    /// Behind which record the page begins. Ids sort by time, so a cursor stays right while records are added.
    func cursor() throws(APIError) -> UUID? {
        guard let text = fields["cursor"] else { return nil }
        guard let bytes = Base64URL.decode(text), bytes.count == 16 else {
            throw .invalid("?cursor", "malformed", "A cursor is taken from the next member of a list.")
        }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    static func cursor(behind id: UUID) -> String {
        withUnsafeBytes(of: id.uuid) { Base64URL.encode($0) }
    }

    /// A status to narrow a list to.
    func status() throws(APIError) -> Payments.Status? {
        guard let text = fields["status"] else { return nil }
        guard let status = Payments.Status.allCases.first(where: { text.isSameBytes(as: $0.rawValue) }) else {
            let known = Payments.Status.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("?status", "not_allowed", "A status is one of \(known).")
        }
        return status
    }
}

extension String {
    /// Without the white space that a header value may have around its parts.
    var trimmingSpaces: String {
        var text = Substring(self)
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}

extension JSONReader {
    /// A required member that a value's own rule takes or refuses.
    func text<Value, Fault: ValueFault>(
        _ name: String, _ make: (String) throws(Fault) -> Value
    ) -> Value? {
        read(name) { (value) throws(JSONFault) in try JSONReader.make(value, make) }
    }

    func optionalText<Value, Fault: ValueFault>(
        _ name: String, _ make: (String) throws(Fault) -> Value
    ) -> Value? {
        readOptional(name) { (value) throws(JSONFault) in try JSONReader.make(value, make) }
    }

    /// The app's own JSON object, kept as it is.
    func metadata() -> Metadata? {
        readOptional("metadata") { (value) throws(JSONFault) in
            guard value.kind == .object else {
                throw JSONFault(code: "wrong_type", message: "This has to be an object.")
            }
            do throws(Metadata.Fault) {
                return try Metadata(json: value.raw)
            } catch {
                throw JSONFault(code: error.code, message: error.message)
            }
        }
    }

    /// An amount, as a number or a string of the same spelling.
    func amount(_ name: String) -> Money? {
        readOptional(name) { (value) throws(JSONFault) in
            guard let text = value.numberText ?? value.string else {
                throw JSONFault(code: "wrong_type", message: "An amount is a number or a string.")
            }
            do throws(Money.Fault) {
                return try Money(text)
            } catch {
                throw JSONFault(code: error.code, message: error.message)
            }
        }
    }

    private static func make<Value, Fault: ValueFault>(
        _ value: JSONValue, _ make: (String) throws(Fault) -> Value
    ) throws(JSONFault) -> Value {
        guard let text = value.string else { throw JSONFault(code: "wrong_type", message: "This has to be a string.") }
        do {
            return try make(text)
        } catch {
            throw JSONFault(code: error.code, message: error.message)
        }
    }
}

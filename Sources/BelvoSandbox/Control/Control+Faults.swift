import HTTP
import JSON

extension Sandbox {
    /// `POST /sandbox/faults` with `{"endpoint": "create_payment_intent"?, "fault": "drop_answer", …,
    /// "count": N | null?, "skip": N?}`; what else a fault needs stands beside it.
    func addFault(_ request: Request) throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        let endpoint = reader.optionalString("endpoint")
        let word = reader.oneOf("fault", FaultWord.self)
        let always = reader.optionalBool("always") ?? false
        let count = reader.optionalInt64("count") ?? 1
        let skip = reader.optionalInt64("skip") ?? 0
        guard let word else { return try rejected(reader) }
        let fault = word.read(reader)
        try reader.finish()
        guard endpoint == nil || endpoint.flatMap(Endpoint.init) != nil else {
            throw .malformed("endpoint: one of \(Endpoint.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        guard let fault, (1...1_000_000).contains(count), (0...1_000_000).contains(skip) else {
            throw .malformed("count: 1 or more; skip: 0 or more.")
        }
        return done {
            next(
                fault, on: endpoint.flatMap(Endpoint.init), count: always ? nil : Int(count),
                afterLetting: Int(skip))
        }
    }

    /// `GET /sandbox/faults`: those that are not used up.
    func describeFaults() -> Response {
        let entries = withState { $0.faults.entries }
        return Answer.object(.ok) { body in
            body.memberArray("results") { results in
                for entry in entries {
                    results.object { fault in
                        fault.member("fault", entry.fault.name)
                        fault.member("endpoint", entry.endpoint?.rawValue)
                        if let count = entry.remaining {
                            fault.member("count", count)
                        } else {
                            fault.memberNull("count")
                        }
                        fault.member("skip", entry.skip)
                    }
                }
            }
        }
    }

    private func rejected(_ reader: JSONReader) throws(ControlFault) -> Response {
        try reader.finish()
        throw .malformed("fault is missing.")
    }
}

/// The faults by their words on the wire.
private enum FaultWord: String, CaseIterable {
    case status
    case statusAfter = "status_after"
    case forbiddenPage = "forbidden_page"
    case tooManyRequests = "too_many_requests"
    case redirect
    case dropRequest = "drop_request"
    case dropAnswer = "drop_answer"
    case delayRequest = "delay_request"
    case delayAnswer = "delay_answer"
    case truncated
    case contentLength = "content_length"
    case garbage
    case garbageBody = "garbage_body"
    case huge
    case slow
    case missingID = "missing_id"
    case unknownStatus = "unknown_status"
    case otherAmount = "other_amount"
    case otherCurrency = "other_currency"
    case otherCustomer = "other_customer"
    case otherBeneficiary = "other_beneficiary"
    case otherEnrollment = "other_enrollment"
    case otherExternalID = "other_external_id"
    case foreignNext = "foreign_next"
    case altered

    /// The fault with its numbers and texts; nil with faults at the reader.
    func read(_ reader: JSONReader) -> Fault? {
        switch self {
        case .status: readStatus(reader)
        case .statusAfter: number("status", 200...599, reader).map(Fault.statusAfter)
        case .forbiddenPage: .forbiddenPage
        case .tooManyRequests: .tooManyRequests(retryAfter: reader.optionalInt64("retry_after").map { Int($0) })
        case .redirect: reader.string("location").map(Fault.redirect)
        case .dropRequest: .dropRequest
        case .dropAnswer: .dropAnswer
        case .delayRequest: number("milliseconds", 0...600_000, reader).map { .delayRequest(.milliseconds($0)) }
        case .delayAnswer: number("milliseconds", 0...600_000, reader).map { .delayAnswer(.milliseconds($0)) }
        case .truncated: number("bytes", 0...10_000_000, reader).map(Fault.truncated)
        case .contentLength: number("off_by", -1_000_000...1_000_000, reader).map(Fault.contentLength)
        case .garbage: .garbage
        case .garbageBody: .garbageBody
        case .huge: number("bytes", 0...1_000_000_000, reader).map(Fault.huge)
        case .slow: number("bytes_per_second", 1...1_000_000, reader).map(Fault.slow)
        case .missingID: .missingID
        case .unknownStatus: .unknownStatus
        case .otherAmount: .otherAmount
        case .otherCurrency: .otherCurrency
        case .otherCustomer: .otherCustomer
        case .otherBeneficiary: .otherBeneficiary
        case .otherEnrollment: .otherEnrollment
        case .otherExternalID: .otherExternalID
        case .foreignNext: reader.string("url").map(Fault.foreignNext)
        case .altered: readAlteration(reader)
        }
    }

    private func readStatus(_ reader: JSONReader) -> Fault? {
        let status = number("status", 200...599, reader)
        let body = reader.optionalString("body")
        let code = reader.optionalString("code") ?? "unexpected_error"
        let type = reader.optionalString("content_type") ?? "application/json"
        guard Headers.isValidValue(type) else {
            reader.refuse("content_type", code: "invalid", "Must be a field value.")
            return nil
        }
        return status.map { status in
            guard let body else { return .refused(status, code: code) }
            return .status(status, body: body, contentType: type, headers: [:])
        }
    }

    private func readAlteration(_ reader: JSONReader) -> Fault? {
        let pointer = reader.string("pointer")
        let value = reader.optionalValue("value").map { String(decoding: $0.raw, as: UTF8.self) }
        return pointer.map { .altered([Fault.Alteration($0, value)]) }
    }

    private func number(_ name: String, _ range: ClosedRange<Int64>, _ reader: JSONReader) -> Int? {
        guard let number = reader.int64(name) else { return nil }
        guard range.contains(number) else {
            reader.refuse(name, code: "invalid", "Must be from \(range.lowerBound) to \(range.upperBound).")
            return nil
        }
        return Int(number)
    }
}

import HTTP

/// What the parser of answers promises about any bytes.
enum ResponsePromises {
    static func check(_ bytes: [UInt8]) throws(BrokenPromise) {
        for method in [Method.get, .head] {
            for limits in [MessageLimits(), .tight] {
                let whole = try ResponseReading(of: [bytes[...]], to: method, limits: limits)
                for pieces in Cuts.of(bytes) {
                    let reading = try ResponseReading(of: pieces, to: method, limits: limits)
                    try promise(
                        "cut into \(pieces.map(\.count)) the bytes are \(reading), and whole \(whole)",
                        reading == whole)
                }
                try checkShortened(bytes, whole, to: method, limits: limits)
                if let response = whole.response { try check(response, to: method, limits: limits) }
            }
        }
    }

    /// An answer that is cut in its head or its body is never taken for one, unless nothing but the end ends it.
    private static func checkShortened(
        _ bytes: [UInt8], _ whole: ResponseReading, to method: Method, limits: MessageLimits
    ) throws(BrokenPromise) {
        guard case .answer(_, _, let byteCount) = whole.outcome else { return }
        for count in Cuts.places(in: byteCount) + [0, byteCount - 1] {
            let reading = try ResponseReading(of: [bytes[..<count]], to: method, limits: limits)
            guard case .cutShort = reading.outcome else {
                throw BrokenPromise("\(count) of an answer's \(byteCount) bytes are no answer: \(reading)")
            }
        }
    }

    private static func check(
        _ response: Response, to method: Method, limits: MessageLimits
    ) throws(BrokenPromise) {
        try promise("an answer is final", response.status.code >= 200)
        try promise("a body has no more bytes than allowed", response.body.count <= limits.bodyBytesMax)
        try promise("there are no more fields than allowed", response.headers.count <= limits.headerCountMax)
        if method == .head || response.status.forbidsBody {
            try promise("what has no body has none", response.body.isEmpty)
        } else if let length = response.headers["content-length"] {
            try promise("a body is as long as is said", Int(length) == response.body.count)
        }
        try checkRoundTrip(response)
    }

    private static func checkRoundTrip(_ response: Response) throws(BrokenPromise) {
        let ours: Set = ["date", "connection", "content-length", "transfer-encoding"]
        var bytes: [UInt8] = []
        MessageSerializer.append(response, answering: .get, to: &bytes)
        let reading = try ResponseReading(of: [bytes[...]], to: .get, limits: .ample)
        guard case .answer(let again, true, bytes.count) = reading.outcome else {
            throw BrokenPromise("an answer that is written is one answer: \(reading)")
        }
        let isSame =
            again.status == response.status && again.body == response.body
            && again.headers.fields(without: ours) == response.headers.fields(without: ours)
        try promise("an answer is read as it was written: \(reading)", isSame)
    }
}

/// What the bytes of an upstream came to, its connection closed behind them.
struct ResponseReading: Equatable, CustomStringConvertible {
    enum Outcome {
        case answer(Response, keepAlive: Bool, byteCount: Int)
        case untilClose(Response)
        case fault(MessageFault)
        case cutShort
    }

    private(set) var outcome = Outcome.cutShort

    init(of pieces: [ArraySlice<UInt8>], to method: Method, limits: MessageLimits) throws(BrokenPromise) {
        var parser = ResponseParser(requestMethod: method, limits: limits)
        var byteCount = 0
        for piece in pieces {
            let bytes = Array(piece)
            var hasEnded = false
            bytes.withUnsafeBytes { bytes in
                var input = bytes
                do throws(MessageFault) {
                    let event = try parser.next(from: &input)
                    byteCount += bytes.count - input.count
                    if case .response(let response, let keepAlive) = event {
                        outcome = .answer(response, keepAlive: keepAlive, byteCount: byteCount)
                        hasEnded = true
                    }
                } catch {
                    outcome = .fault(error)
                    hasEnded = true
                }
            }
            if hasEnded {
                try checkThatNothingComesBehind(&parser)
                return
            }
        }
        // A fault here is the answer that was cut short: the outcome as it is.
        if let response = try? parser.end() { outcome = .untilClose(response) }
    }

    var response: Response? {
        switch outcome {
        case .answer(let response, _, _), .untilClose(let response): response
        case .fault, .cutShort: nil
        }
    }

    private func checkThatNothingComesBehind(_ parser: inout ResponseParser) throws(BrokenPromise) {
        var empty = UnsafeRawBufferPointer(start: nil, count: 0)
        // What is wrong does not matter here, only that something is.
        let next = try? parser.next(from: &empty)
        let end = try? parser.end()
        try promise("behind an answer there is no other", next == nil && end == nil)
    }

    static func == (one: ResponseReading, other: ResponseReading) -> Bool {
        switch (one.outcome, other.outcome) {
        case (.answer(let one, let keptAlive, let count), .answer(let other, let keepsAlive, let otherCount)):
            keptAlive == keepsAlive && count == otherCount && areSame(one, other)
        case (.untilClose(let one), .untilClose(let other)): areSame(one, other)
        case (.fault(let one), .fault(let other)): one == other
        case (.cutShort, .cutShort): true
        default: false
        }
    }

    private static func areSame(_ one: Response, _ other: Response) -> Bool {
        one.status == other.status && one.body == other.body && one.headers.fields() == other.headers.fields()
    }

    var description: String {
        switch outcome {
        case .answer(let response, let keepAlive, let count):
            "\(response.status), \(response.body.count) bytes, \(keepAlive ? "open" : "close"), \(count) bytes in all"
        case .untilClose(let response): "\(response.status), \(response.body.count) bytes until the end"
        case .fault(let fault): "\(fault)"
        case .cutShort: "cut short"
        }
    }
}

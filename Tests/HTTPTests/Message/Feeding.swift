import HTTP
import Testing

/// A message in a table, the rule it is about, and what must come of it.
///
/// A request's outcome reads "GET /path?query [body] open" or "… close", one behind the other for several
/// requests, then the status of a fault, then "…" when something was begun and is not whole.
struct Row: Sendable, CustomTestStringConvertible {
    let rule: String
    let message: String
    let outcome: String

    init(_ rule: String, _ message: String, _ outcome: String) {
        self.rule = rule
        self.message = message
        self.outcome = outcome
    }

    var testDescription: String { "\(rule): \(message.prefix(200).debugDescription)" }
}

/// One character of a test's text is one byte.
func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8($0.value) }
}

func text(_ bytes: some Sequence<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(Unicode.Scalar(byte)) }
    return String(text)
}

/// The ways in which the network may cut a message: not at all, at each byte, and once anywhere.
///
/// A long message is cut once at places that a prime number lies between: they fall on every kind of byte.
func waysToCut(_ message: [UInt8]) -> [[ArraySlice<UInt8>]] {
    let step = message.count > 1_000 ? 997 : 1
    return [[message[...]], message.indices.map { message[$0...$0] }]
        + stride(from: 1, to: message.count, by: step).map { [message[..<$0], message[$0...]] }
}

/// Feeds the message in every way that it may be cut and expects the same outcome each time.
func expect(
    _ row: Row, limits: MessageLimits = MessageLimits(), sourceLocation: SourceLocation = #_sourceLocation
) {
    for pieces in waysToCut(bytes(row.message)) {
        let outcome = requestOutcome(of: pieces, limits: limits)
        let way = "in \(pieces.count) pieces, the first of \(pieces.first?.count ?? 0) bytes"
        #expect(outcome == row.outcome, "\(row.testDescription) \(way)", sourceLocation: sourceLocation)
        if outcome != row.outcome { return }
    }
}

func requestOutcome(of pieces: [ArraySlice<UInt8>], limits: MessageLimits = MessageLimits()) -> String {
    var feeder = RequestFeeder(limits: limits)
    for piece in pieces where !feeder.isRefused { feeder.feed(piece) }
    if !feeder.isRefused, !feeder.parser.isBetweenMessages { feeder.outcome.append("…") }
    return feeder.outcome.joined(separator: ", ")
}

/// A parser, and what it has made so far of what it was given.
struct RequestFeeder {
    var parser: RequestParser
    var requests: [Request] = []
    var outcome: [String] = []
    var isRefused = false

    init(limits: MessageLimits = MessageLimits()) {
        parser = RequestParser(limits: limits)
    }

    mutating func feed(_ piece: some Sequence<UInt8>) {
        Array(piece).withUnsafeBytes { bytes in
            var input = bytes
            do throws(MessageFault) {
                while case let event = try parser.next(from: &input), take(event) {}
                #expect(input.isEmpty, "what is not a whole request yet is held, not left")
            } catch {
                isRefused = true
                outcome.append("\(error.status.code)")
            }
        }
    }

    /// Whether there may be more in the input.
    private mutating func take(_ event: RequestParser.Event) -> Bool {
        guard case .request(let request, let keepAlive) = event else {
            if case .needsMore = event { return false }
            return true
        }
        requests.append(request)
        outcome.append("\(request.method) \(request.target) [\(text(request.body))] \(keepAlive ? "open" : "close")")
        return true
    }
}

/// The request that the text is, whole and alone.
func request(_ text: String, limits: MessageLimits = MessageLimits()) throws -> Request {
    var parser = RequestParser(limits: limits)
    let event = try bytes(text).withUnsafeBytes { bytes in
        var input = bytes
        return try parser.next(from: &input)
    }
    guard case .request(let request, _) = event else { throw NoRequest() }
    return request
}

struct NoRequest: Error {}

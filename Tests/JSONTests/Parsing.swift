import JSON
import Testing

/// Parses a text of a test.
func parse(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) -> JSONValue {
    try JSONDocument(parsing: Array(text.utf8), limits: limits).root
}

/// Why a text is refused, or nil when it is not.
func refusal(of bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> JSONSyntaxError? {
    do throws(JSONSyntaxError) {
        _ = try JSONDocument(parsing: bytes, limits: limits)
        return nil
    } catch {
        return error
    }
}

func refusal(of text: String, limits: JSONLimits = JSONLimits()) -> JSONSyntaxError? {
    refusal(of: Array(text.utf8), limits: limits)
}

/// Bytes as text, for comparisons that print well.
func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: Array(bytes), as: UTF8.self)
}

/// A text that is refused: why, and after how many bytes.
struct Refused: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let reason: JSONSyntaxError.Reason
    let offset: Int

    init(_ text: String, _ reason: JSONSyntaxError.Reason, at offset: Int) {
        self.init(Array(text.utf8), reason, at: offset)
    }

    init(_ bytes: [UInt8], _ reason: JSONSyntaxError.Reason, at offset: Int) {
        self.bytes = bytes
        self.reason = reason
        self.offset = offset
    }

    /// A string of these bytes.
    init(quoted bytes: [UInt8], _ reason: JSONSyntaxError.Reason, at offset: Int) {
        self.init([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")], reason, at: offset)
    }

    var testDescription: String { text(bytes) }

    /// Nil when it is refused as it should be, else what came instead.
    var surprise: String? {
        guard let error = refusal(of: bytes) else { return "accepted" }
        return error.reason == reason && error.offset == offset ? nil : "\(error.offset): \(error.reason)"
    }
}

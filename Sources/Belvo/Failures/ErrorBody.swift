import HTTP
import JSON

/// Reads what can be read of an answer that is not a success.
///
/// Belvo documents an array of items; single objects, `{"detail": …}`, a map from fields to messages, an
/// empty body and a firewall's HTML come as well (belvo-api.md §1.1). Whatever cannot be read is left out:
/// the status alone decides what may be done next.
package enum ErrorBody {
    static let bytesMax = 65_536
    static let itemsMax = 20
    static let codeScalarsMax = 100
    static let messageScalarsMax = 500
    static let fieldScalarsMax = 200
    static let requestIDScalarsMax = 100

    /// The fault that an answer finds with its request.
    package static func refusal(_ response: Response) -> ErrorResponse {
        let faults = objects(response.body)
        return ErrorResponse(
            status: response.status.code,
            items: Array(faults.lazy.flatMap(items).prefix(itemsMax)),
            requestID: faults.lazy.compactMap { text($0["request_id"], scalarsMax: requestIDScalarsMax) }
                .first(where: PlainWord.isID),
            retryAfter: RetryAfter.read(response.headers)
        )
    }

    private static func objects(_ body: [UInt8]) -> [JSONValue] {
        guard !body.isEmpty, body.count <= bytesMax else { return [] }
        // Not JSON, or not quite: the status is all that is left to go by.
        guard let root = try? JSONDocument(parsing: body).root else { return [] }
        return root.kind == .array ? Array(root.elements) : [root]
    }

    private static func items(_ value: JSONValue) -> [ErrorResponse.Item] {
        guard value.kind == .object else {
            let message = text(value, scalarsMax: messageScalarsMax)
            return message.map { [ErrorResponse.Item(code: nil, message: $0, field: nil)] } ?? []
        }
        guard ["code", "message", "detail", "field", "request_id"].contains(where: { value[$0] != nil }) else {
            return value.members.map { field, messages in
                item(
                    code: nil, message: text(messages, scalarsMax: messageScalarsMax),
                    field: PlainText.clean(field, scalarsMax: fieldScalarsMax))
            }
        }
        let found = item(
            code: text(value["code"], scalarsMax: codeScalarsMax),
            message: text(value["message"], scalarsMax: messageScalarsMax)
                ?? text(value["detail"], scalarsMax: messageScalarsMax),
            field: text(value["field"], scalarsMax: fieldScalarsMax))
        return found == ErrorResponse.Item(code: nil, message: nil, field: nil) ? [] : [found]
    }

    /// A code or field that is none belongs to the message: it may repeat what a person typed, and codes and fields are
    /// logged.
    private static func item(code: String?, message: String?, field: String?) -> ErrorResponse.Item {
        let isCode = code.map(PlainWord.isCode) ?? true
        let isPath = field.map(PlainWord.isPath) ?? true
        let texts = [isPath ? nil : field, isCode ? nil : code, message].compactMap(\.self).filter { !$0.isEmpty }
        let sentence = String(texts.joined(separator: ": ").unicodeScalars.prefix(messageScalarsMax))
        return ErrorResponse.Item(
            code: isCode ? code : nil, message: texts.isEmpty ? nil : sentence, field: isPath ? field : nil)
    }

    /// A string's text, the only string of a list, or the JSON text of anything else but null.
    private static func text(_ value: JSONValue?, scalarsMax: Int) -> String? {
        guard let value, !value.isNull else { return nil }
        let elements = Array(value.elements.prefix(2))
        let words = elements.count == 1 ? elements[0].string : value.string
        let text = PlainText.clean(words ?? String(decoding: value.raw, as: UTF8.self), scalarsMax: scalarsMax)
        return text.isEmpty ? nil : text
    }
}

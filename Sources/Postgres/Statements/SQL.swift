/// One SQL statement with its parameters, written as a string literal.
///
/// `\(value)` becomes `$1`, `$2`, … and the value travels apart from the text, so nothing that a value holds can be
/// read as SQL. There is no way to put a `String` into the text; only another `SQL`, with `\(fragment:)`.
/// ```swift
/// let statement: SQL = "SELECT id FROM payments WHERE id = \(id) AND state = \(state)"
/// ```
/// The description is the text without the values.
public struct SQL: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The statement with its placeholders.
    public let text: String
    let parameters: Parameters

    public init(stringLiteral literal: String) {
        text = literal
        parameters = Parameters()
    }

    public init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        parameters = stringInterpolation.parameters
    }

    /// Puts statements or conditions one after the other, with the separator between them.
    public init(joining parts: [SQL], separator: SQL) {
        var joined = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        for (index, part) in parts.enumerated() {
            if index > 0 { joined.appendInterpolation(fragment: separator) }
            joined.appendInterpolation(fragment: part)
        }
        self.init(stringInterpolation: joined)
    }

    /// A statement without parameters whose text is not a literal.
    ///
    /// For LISTEN, and for tests that create databases: PostgreSQL takes no parameters there. The caller answers
    /// for every byte.
    package init(trusted text: String) {
        self.text = text
        parameters = Parameters()
    }

    /// The same parameters with another text, which has to name each of them: for simulations that change a statement.
    package func rewritten(_ text: String) -> SQL { SQL(text: text, parameters: parameters) }

    private init(text: String, parameters: Parameters) {
        self.text = text
        self.parameters = parameters
    }

    /// The same text and parameter types, and no values.
    var withoutValues: SQL { SQL(text: text, parameters: parameters.withoutValues) }

    public var description: String { text }

    /// Gathers the text and the values while a literal is read.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var parameters = Parameters()

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 3)
            parameters.entries.reserveCapacity(interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// Sends the value as the next parameter.
        public mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            let offset = text.utf8.count
            parameters.append(value, textOffset: offset)
            appendPlaceholder(parameters.entries.count)
        }

        /// Sends the value as the next parameter, or NULL.
        public mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            let offset = text.utf8.count
            parameters.append(value, textOffset: offset)
            appendPlaceholder(parameters.entries.count)
        }

        /// Puts another statement's text here, its parameters numbered on from those before.
        public mutating func appendInterpolation(fragment: SQL) {
            let bytes = fragment.text.utf8
            var rest = bytes.startIndex
            for (index, entry) in fragment.parameters.entries.enumerated() {
                let placeholder = bytes.index(bytes.startIndex, offsetBy: entry.textOffset)
                text += fragment.text[rest..<placeholder]
                parameters.append(entry, of: fragment.parameters, textOffset: text.utf8.count)
                appendPlaceholder(parameters.entries.count)
                rest = bytes.index(placeholder, offsetBy: 1 + String(index + 1).utf8.count)
            }
            text += fragment.text[rest...]
        }

        private mutating func appendPlaceholder(_ number: Int) {
            text += "$"
            text += String(number)
        }
    }
}

import JSON

/// A value in what a command prints as JSON.
package enum CommandValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral
{
    case text(String)
    case number(Int)
    case flag(Bool)
    case texts([String])
    case objects([[(name: String, value: CommandValue)]])

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .number(value) }
    package init(booleanLiteral value: Bool) { self = .flag(value) }

    fileprivate func write(_ name: String, to object: inout JSONWriter) {
        switch self {
        case .text(let text): object.member(name, text)
        case .number(let number): object.member(name, number)
        case .flag(let flag): object.member(name, flag)
        case .texts(let texts):
            object.memberArray(name) { list in
                for text in texts { list.element(text) }
            }
        case .objects(let objects):
            object.memberArray(name) { list in
                for members in objects {
                    list.object { for (name, value) in members { value.write(name, to: &$0) } }
                }
            }
        }
    }
}

/// One JSON object in a line: what commands that have little to say print for scripts.
package func commandJSON(_ members: KeyValuePairs<String, CommandValue>) -> String {
    let bytes = JSONWriter.object { object in
        for (name, value) in members { value.write(name, to: &object) }
    }
    return String(decoding: bytes, as: UTF8.self)
}

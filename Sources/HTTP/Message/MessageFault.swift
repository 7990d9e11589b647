/// A fault in a received message: the status to answer with and a sentence for people.
///
/// The sentence is one of ours and holds no byte of the message, so it may be sent and logged.
public struct MessageFault: Error, Equatable, Sendable, CustomStringConvertible {
    public let status: Status
    let sentence: StaticString

    public init(_ status: Status, _ reason: StaticString) {
        self.status = status
        sentence = reason
    }

    /// An English sentence without capital and full stop.
    public var reason: String { sentence.description }
    public var description: String { "\(status.code): \(sentence)" }

    public static func == (one: MessageFault, other: MessageFault) -> Bool {
        one.status == other.status && one.reason == other.reason
    }

    /// A violation of the grammar: 400.
    static func malformed(_ reason: StaticString) -> MessageFault { MessageFault(.badRequest, reason) }
}

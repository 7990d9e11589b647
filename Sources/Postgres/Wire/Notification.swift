/// A message to every session that listens to the channel: `NOTIFY`.
public struct Notification: Sendable, Hashable {
    /// The channel, of 63 bytes at most.
    public var channel: String
    /// Under 8000 bytes.
    public var payload: String

    public init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }
}

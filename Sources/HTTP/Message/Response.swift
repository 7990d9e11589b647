/// A final response with its whole body.
public struct Response: Sendable {
    public var status: Status
    public var headers: Headers
    public var body: [UInt8]

    /// Takes the parts. `content-length`, `date` and `connection` are the server's to write.
    public init(_ status: Status, headers: Headers = Headers(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

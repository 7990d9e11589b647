import HTTP

/// A client of Belvo's payment API: one method for each call, every failure sorted by what may be done next.
///
/// One method is one call, sent once: nothing here repeats a request, keeps a state or reads a clock for
/// anything but the time left. Whether a call may be made again is said by the `BelvoError` that it throws.
///
/// The bytes travel through the `send` function that the client is given. It sends one request to the
/// configured origin within the time given, follows no redirect, and throws `HTTP.ClientError`. Anything
/// else that it throws is taken to mean that the request may have arrived.
public struct Client: Sendable {
    /// Sends one request and returns the whole answer, or throws `HTTP.ClientError`.
    public typealias Send = @Sendable (_ request: Request, _ timeout: Duration) async throws -> Response

    /// The same, for a function that treats calls differently.
    package typealias Carry =
        @Sendable (_ call: Call, _ request: Request, _ timeout: Duration) async throws -> Response

    let configuration: Configuration
    let carry: Carry
    let clock: any Clock<Duration>

    /// Takes the function that carries requests, and the clock by which the pages of one list share its time.
    public init(
        configuration: Configuration,
        clock: any Clock<Duration> = ContinuousClock(),
        send: @escaping Send
    ) {
        self.init(
            carry: { _, request, timeout in try await send(request, timeout) }, configuration: configuration,
            clock: clock)
    }

    /// Takes a function that gets the call that it carries. One that decides not to send throws `CallHeldBack`.
    package init(
        carry: @escaping Carry,
        configuration: Configuration,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.configuration = configuration
        self.clock = clock
        self.carry = carry
    }

    /// Entries of one page of what `glimpsePaymentIntents` shows.
    public var glimpsePageSize: Int { configuration.glimpsePageSize }

    /// The same client, whose calls take no longer than this.
    public func within(_ limit: Duration) -> Client {
        var configuration = configuration
        configuration.timeout = min(configuration.timeout, limit)
        return Client(carry: carry, configuration: configuration, clock: clock)
    }
}

import Transport

/// The addresses of an origin's host, as one loop knows them.
///
/// However many requests want them, the name is asked for once at a time: a name server that does not answer must
/// not fill the few threads that may block.
final class OriginAddresses {
    private let origin: URL.Origin
    private let configuration: ClientConfiguration
    private let loop: EventLoop
    private let line: WaitQueue<Result<[SocketAddress], ResolutionError>>
    private var known: (addresses: [SocketAddress], until: Monotonic)?
    private var isAsking = false

    init(of origin: URL.Origin, configuration: ClientConfiguration, on loop: EventLoop) {
        self.origin = origin
        self.configuration = configuration
        self.loop = loop
        line = WaitQueue(on: loop)
    }

    /// The addresses in the order in which they should be tried. Throws what was wrong, also when the deadline passed.
    func current(until deadline: Monotonic) async throws(ResolutionError) -> [SocketAddress] {
        if let known, known.until > Monotonic.now() { return known.addresses }
        ask()
        guard let result = await line.wait(until: deadline) else {
            throw ResolutionError(host: origin.host, reason: "no answer in time")
        }
        return try result.get()
    }

    /// Has the name resolved anew next time: none of the addresses could be reached.
    func forget() {
        known = nil
    }

    private func ask() {
        guard !isAsking else { return }
        isAsking = true
        let addresses = LoopBound(self, on: loop)
        let (origin, resolve) = (origin, configuration.resolve)
        // No caller awaits it: callers that wait in line have deadlines of their own.
        Task(executorPreference: loop) {
            do throws(ResolutionError) {
                let found = try await resolve(origin.host, origin.port)
                addresses.value.take(.success(found))
            } catch {
                addresses.value.take(.failure(error))
            }
        }
    }

    private func take(_ result: Result<[SocketAddress], ResolutionError>) {
        isAsking = false
        if case .success(let addresses) = result {
            known = (addresses, Monotonic.now() + configuration.resolutionLifetime)
        }
        line.handToAll(result)
    }
}

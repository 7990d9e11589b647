import HTTP

extension ServerConfiguration {
    /// Of a stand-in whose clients keep their connections: nothing is on its way on them when a harness is taken down.
    static var prompt: ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.drainGrace = .zero
        return configuration
    }
}

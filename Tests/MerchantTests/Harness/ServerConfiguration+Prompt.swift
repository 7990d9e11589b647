import HTTP

extension ServerConfiguration {
    /// The configuration of a stand-in whose clients keep their connections: nothing is in transit on them when a
    /// harness is closed.
    static var prompt: ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.drainGrace = .zero
        return configuration
    }
}

extension ServerConnection {
    /// The phases of a connection.
    enum Phase {
        /// TLS is being set up.
        case greeting
        /// Nothing has come since the last answer.
        case idle
        /// A request has begun and is not complete.
        case receiving
        /// A handler is at work; what comes meanwhile is kept for later.
        case responding
        /// The answer is not there yet and no handler is at work for it: `held` is what it waits for.
        case holding
        /// A handler is at work for a client that is gone. What it does is done to the end.
        case unheard
        /// The last answer was one refusal too many: nothing is read until the rest is over.
        case resting
        /// The last answer is out, and the rest of what the client sends is thrown away.
        case lingering
        case closed
    }
}

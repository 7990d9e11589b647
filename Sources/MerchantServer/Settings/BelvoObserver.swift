import Belvo
import HTTP

/// The observer between a server and Belvo, which sees what passes; only the server that a probe runs has one.
struct BelvoObserver: Sendable {
    /// Gives the function that carries calls in the place of another.
    let carry: @Sendable (_ carry: @escaping Belvo.Client.Carry) -> Belvo.Client.Carry
    /// How Belvo is spoken to at this moment.
    let dialect: @Sendable () -> Dialect
    /// Sees a request to the server, and what it was answered.
    let see: @Sendable (Request, Reply) -> Void
}

/// A value that belongs to one loop, in a wrapper that may be carried elsewhere but opened only there.
///
/// It is `@unchecked Sendable` because the value is reached on its loop's thread only; a debug build checks it.
public struct LoopBound<Value>: @unchecked Sendable {
    private let loop: EventLoop
    private let content: Value

    /// Wraps a value of the loop that runs on the calling thread.
    public init(_ value: Value, on loop: EventLoop) {
        assert(loop.isCurrent, "a value is bound on its own loop")
        self.loop = loop
        content = value
    }

    public var value: Value {
        assert(loop.isCurrent, "a value is used on its own loop")
        return content
    }
}

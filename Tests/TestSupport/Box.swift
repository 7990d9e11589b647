import Synchronization

/// A value that several threads of a test share.
public final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    public init(_ value: Value) {
        content = Mutex(value)
    }

    public var value: Value { content.withLock { $0 } }

    public func update(_ change: @Sendable (inout Value) -> Void) {
        content.withLock { change(&$0) }
    }
}

/// A value that must not reach a log, an error text or a dump of memory by being printed carelessly.
///
/// Interpolation, `print`, `dump` and the description of whatever encloses the value all show
/// `‹redacted›`; the content is read through a property that has to be named.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    public var description: String { "‹redacted›" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

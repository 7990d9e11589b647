/// A value that must not reach a log by being printed carelessly: every way of printing it, or what encloses
/// it, shows `‹redacted›`.
protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    public var description: String { "‹redacted›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

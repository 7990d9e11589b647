import CLinux
import Glibc

/// A system call that failed: which one, and its errno.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call's name, as in `connect`.
    public let call: String
    /// The value of `errno` after it.
    public let code: Int32

    public init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Takes the calling thread's present `errno`.
    static func last(_ call: StaticString) -> SystemError {
        SystemError("\(call)", code: clinux_errno())
    }

    public var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// Calls until the call is not interrupted by a signal (EINTR), and turns −1 into an error.
func retryingInterrupts<Result: FixedWidthInteger>(
    _ call: StaticString, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        if clinux_errno() != EINTR { throw .last(call) }
    }
}

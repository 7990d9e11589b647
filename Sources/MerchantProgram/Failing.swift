import Glibc
import MerchantServer
import MerchantStore

/// How the program ends when it cannot continue: one clear text on standard error, and an exit code that scripts know.
enum Failing {
    /// sysexits.h: something is wrong with the configuration.
    static let configuration: Int32 = 78
    /// sysexits.h: something needed is not there.
    static let unavailable: Int32 = 69

    /// Says something on standard error, where standard output is for a script.
    static func tell(_ text: String) {
        "merchant: \(text)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
    }

    static func exit(_ error: any Error) -> Never {
        tell("\(error)")
        Glibc.exit(error is SettingsFault || error is SchemaRefused ? configuration : unavailable)
    }

    static func orExit<Value>(_ body: () throws -> Value) -> Value {
        do {
            return try body()
        } catch {
            exit(error)
        }
    }
}

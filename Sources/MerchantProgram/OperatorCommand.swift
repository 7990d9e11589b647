import ArgumentParser
import Glibc
import Logging
import MerchantModel
import MerchantServer
import Transport

/// Exit codes that scripts can rely on.
extension Failing {
    /// It was done, and something needs an operator.
    static let found: Int32 = 1
    /// sysexits.h: there is no such thing.
    static let noInput: Int32 = 66
}

extension SettingsOptions {
    /// Runs a command of the operators' on a loop of its own, and ends the process with the code that it gives.
    func operate(_ body: @escaping @Sendable (Operators) async throws -> Int32) throws {
        let settings = settings()
        // Standard output is the command's, and may be JSON for a script.
        let log = Logger.jsonLines(label: "merchant", level: .critical, to: .standardError, now: WallClock.now)
        let operators = Failing.orExit { try Operators(settings: settings, log: log) }
        let loop = try EventLoop()
        _ = loop.task {
            do {
                let code = try await body(operators)
                await operators.close()
                fflush(nil)
                Glibc.exit(code)
            } catch {
                Failing.exit(error)
            }
        }
        loop.run()
    }
}

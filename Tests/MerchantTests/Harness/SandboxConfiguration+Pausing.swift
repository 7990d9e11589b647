import BelvoSandbox
import TestSupport

extension SandboxConfiguration {
    /// A sandbox in which nothing moves unless it is told to, and whose delays last until the gate is open.
    static func test(pausingAt gate: Gate) -> SandboxConfiguration {
        var configuration = SandboxConfiguration.test()
        configuration.sleep = { _ in await gate.pass() }
        return configuration
    }
}

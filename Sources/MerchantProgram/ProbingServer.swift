import Glibc
import Logging
import MerchantModel
import MerchantServer
import Transport

/// The server while a probe waits for a person: where it listens is told on standard error, and a signal ends it early.
enum ProbingServer {
    private static let signals = [SIGINT, SIGTERM]
    /// For webhooks, and for the page to learn of its payment.
    private static let linger = Duration.seconds(20)

    /// Does what has to come before there is another thread.
    static func prepare() throws {
        try Signals.block(signals)
        CoreDumps.forbid()
        DescriptorLimit.raise()
    }

    static func run(_ means: ProbeMeans, _ minutes: Int, _ operators: Operators) async throws -> ProbeReport {
        let visit = ShopVisit(limit: .seconds(minutes * 60), linger: linger) { _, addresses in
            Failing.tell(
                """
                the server listens at \(addresses.api) and takes payments of R$ 0.01 alone; connect a bank and pay \
                R$ 0.01 through the shop's page within \(minutes) minutes (Ctrl-C ends it earlier)
                """)
        } onPaid: {
            Failing.tell("paid; webhooks are taken for \(linger.components.seconds) seconds more (Ctrl-C ends it)")
        }
        guard let loop = EventLoop.current else { preconditionFailure("a command runs on an event loop") }
        let asked = try Signals(signals, on: loop) { _ in visit.end() }
        defer { withExtendedLifetime(asked) {} }
        let log = Logger.jsonLines(label: "merchant", level: .warning, to: .standardError, now: WallClock.now)
        return try await operators.probe(means, throughShop: visit, log: log)
    }
}

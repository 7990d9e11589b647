import Glibc
import Logging
import MerchantServer
import Transport

/// One life of the server: started, served, asked to stop, drained.
struct Serving: Sendable {
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGUSR2]

    let server: MerchantServer
    let loop: EventLoop
    let inherited: InheritedListeners
    let log: Logger

    func run() async {
        do {
            let (stops, asked) = AsyncStream<Void>.makeStream()
            let signals = try listen(for: asked)
            _ = try await server.start(inheriting: inherited)
            inherited.tellReady()
            for await _ in stops {}
            await server.stop()
            withExtendedLifetime(signals) {}
            exit(0)
        } catch {
            Failing.exit(error)
        }
    }

    /// Has the signals do what they ask for; `asked` is finished when the server is to stop.
    private func listen(for asked: AsyncStream<Void>.Continuation) throws -> Signals {
        var wasAsked = false
        var handover: Handover?
        return try Signals(Self.signals, on: loop) { signal in
            switch signal {
            case SIGHUP: server.reloadCertificate()
            case SIGUSR2:
                guard handover == nil, !wasAsked else { return }
                handover = handOver { serves in
                    handover = nil
                    guard serves else { return log.error("server.handover_failed") }
                    log.notice("server.handed_over")
                    wasAsked = true
                    asked.finish()
                }
            default:
                if wasAsked { _exit(1) }
                guard server.hasListened else { _exit(0) }
                wasAsked = true
                asked.finish()
            }
        }
    }

    private func handOver(_ outcome: @escaping (Bool) -> Void) -> Handover? {
        do {
            return try server.handOver(to: CommandLine.arguments, on: loop, outcome: outcome)
        } catch {
            log.error("server.handover_failed", metadata: ["reason": "\(error)"])
            return nil
        }
    }
}

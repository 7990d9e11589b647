import ArgumentParser
import Glibc
import Logging
import Merchant
import Transport

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves apps, banks and operators until SIGTERM or SIGINT.",
        discussion: """
            The first signal finishes what was accepted; a second one ends the process at once. SIGHUP reads the
            certificate of TLS_CERT_FILE anew. SIGUSR2 starts the program anew, lets it take the listening sockets over,
            and ends this one when the new one serves. Sockets of systemd's (sd_listen_fds) are taken over.
            """)

    @OptionGroup var options: SettingsOptions

    /// Synchronous, so that it runs on the main thread: signals have to be blocked before there is another one.
    func run() throws {
        try Signals.block(Serving.signals)
        CoreDumps.forbid()
        DescriptorLimit.raise()
        let inherited = Failing.orExit { try InheritedListeners.take() }
        let settings = options.settings()
        let log = Logger.jsonLines(label: "merchant", level: settings.logLevel, now: WallClock.now)
        let first = try EventLoop()
        var loops = [first]
        for number in 1..<EventLoop.usefulCount {
            loops.append(try LoopThread.start(EventLoop(), name: "loop-\(number)").loop)
        }
        let server = Failing.orExit { [loops] in
            try MerchantServer(settings: settings, loops: loops, log: log)
        }
        let serving = Serving(server: server, loop: first, inherited: inherited, log: log)
        _ = first.task { await serving.run() }
        first.run()
    }
}

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

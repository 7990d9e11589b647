import ArgumentParser
import Glibc
import Logging
import Merchant
import Transport

struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves apps, banks and operators until SIGTERM or SIGINT.",
        discussion: "The first signal finishes what was accepted; a second one ends the process at once.")

    @OptionGroup var options: SettingsOptions

    /// Synchronous, so that it runs on the main thread: signals have to be blocked before there is another one.
    func run() throws {
        try Signals.block([SIGINT, SIGTERM])
        CoreDumps.forbid()
        DescriptorLimit.raise()
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
        let serving = Serving(server: server, loop: first)
        _ = first.task { await serving.run() }
        first.run()
    }
}

/// One life of the server: started, served, asked to stop, drained.
struct Serving: Sendable {
    let server: MerchantServer
    let loop: EventLoop

    func run() async {
        do {
            let (stops, asked) = AsyncStream<Void>.makeStream()
            var wasAsked = false
            let signals = try Signals([SIGINT, SIGTERM], on: loop) { _ in
                if wasAsked { _exit(1) }
                wasAsked = true
                asked.finish()
            }
            _ = try await server.start()
            for await _ in stops {}
            await server.stop()
            withExtendedLifetime(signals) {}
            exit(0)
        } catch {
            Failing.exit(error)
        }
    }
}

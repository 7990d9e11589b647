import ArgumentParser
import Glibc
import Logging
import MerchantModel
import MerchantServer
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

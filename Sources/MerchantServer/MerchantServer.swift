import Belvo
import BelvoGate
import Glibc
import HTTP
import Logging
import MerchantAPI
import MerchantAuth
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Postgres
import Synchronization
import Transport

/// The merchant's server, built from its settings: the database, Belvo, the API on its listeners, and the workers.
///
/// Use: `try await start()` from a task on the first loop, later `await stop()`.
package final class MerchantServer: Sendable {
    private let settings: Settings
    private let loops: [EventLoop]
    private let log: Logger
    private let logThrottle: LogThrottle
    private let database: Database
    /// For handlers, whose callers wait.
    let dependencies: Dependencies
    /// For workers, whose calls to Belvo come after those that users wait for.
    private let backgroundDependencies: Dependencies
    private let authenticator: Authenticator
    private let institutions: InstitutionCatalog
    package let health: Health
    /// Nothing where the shop wants no events.
    private let delivery: EventDelivery?
    private let server: HTTP.Server
    private let adminServer: HTTP.Server
    /// One for each loop.
    private let gauges: [LoopGauge]
    private let work = Mutex<[Task<Void, any Error>]>([])
    /// While it listens.
    private let listeners = Mutex<[(name: String, listener: Listener)]>([])

    /// How long accepted requests may run after the server was asked to stop: a call to Belvo and its record.
    static let drainDeadline = Duration.seconds(25)

    /// Builds everything and opens nothing but files. Throws what is wrong with a file or the database's address.
    package convenience init(
        settings: Settings, loops: [EventLoop], log: Logger, clock: IntervalClock = .machine
    ) throws {
        try self.init(settings: settings, loops: loops, log: log, clock: clock, observer: nil)
    }

    /// - Parameter observer: sees what passes between this server and Belvo.
    init(
        settings: Settings, loops: [EventLoop], log: Logger, clock: IntervalClock, observer: BelvoObserver?
    ) throws {
        precondition(!loops.isEmpty, "a server needs a loop")
        self.settings = settings
        self.loops = loops
        let logThrottle = LogThrottle(now: clock.now)
        let log = log.throttled(by: logThrottle)
        self.logThrottle = logThrottle
        self.log = log
        let database = try Database(settings.databaseURL.text, configuration: .logged(to: log))
        self.database = database
        let gate = BelvoGate(
            rate: settings.belvoRate, userRate: settings.belvoUserRate, strangerRate: settings.belvoStrangerRate,
            callsMax: settings.belvoCallsMax, log: log, now: clock.now)
        let clients = try Belvo.Client.live(settings, through: gate, observer: observer)
        let belvo = clients.person
        let dependencies = Dependencies(
            settings, database: database, belvo: belvo, gate: gate,
            changes: ChangeFeed(loops: loops, database: database),
            log: log)
        self.dependencies = dependencies
        var backgroundDependencies = dependencies
        backgroundDependencies.belvo = clients.background
        self.backgroundDependencies = backgroundDependencies
        let authenticator = Authenticator(
            settings.auth, now: WallClock.now, dependencies: try .live(settings.auth, clock, log))
        self.authenticator = authenticator
        delivery = try EventDelivery(settings, store: dependencies.store, log: log)
        let health = Health(store: dependencies.store, authenticator: authenticator, gate: gate, now: clock.now)
        self.health = health
        let institutions = InstitutionCatalog(belvo: belvo, loop: loops[0], log: log)
        self.institutions = institutions
        let counts = RequestCounts()
        let access = AccessRules(settings, clock: clock)
        let api = API(
            dependencies: dependencies, authenticator: authenticator, institutions: institutions,
            health: health,
            callbackPage: CallbackPage(
                appLink: settings.appDeepLink, webLink: settings.webReturnURL,
                pollInterval: settings.timeouts.pollInterval),
            access: access, associations: AppAssociations(settings),
            vault: dependencies.store.vault,
            counts: counts, logsRequests: settings.logsRequests)
        let refusal: @Sendable (MessageFault) -> Response = { fault in
            let requestID = RequestID.made()
            var response = APIError(fault).response(requestID: requestID)
            response.headers.append("x-request-id", requestID)
            return response
        }
        let transportSecurity = TransportSecurity(publicBaseURL: settings.publicBaseURL)
        let countedRefusal: @Sendable (MessageFault) -> Response = { fault in
            var response = refusal(fault)
            transportSecurity.apply(to: &response)
            counts.countUnreadable(response.status)
            return response
        }
        server = HTTP.Server(
            configuration: .limited(by: settings),
            tls: try settings.tls.map {
                try TLSContext.server(certificateChain: $0.certificateFile, privateKey: $0.keyFile)
            },
            refusal: countedRefusal,
            dispatcher: { request, context in
                let handling = api.handle(request, context)
                guard let observer else { return handling }
                return .work {
                    let reply = await handling.reply
                    observer.see(request, reply)
                    return reply
                }
            })
        gauges = loops.map { _ in LoopGauge() }
        let admin = AdminAPI(
            health: health,
            metrics: MetricsPage(
                requests: counts, loops: gauges, dependencies: dependencies, access: access, logThrottle: logThrottle,
                server: server))
        adminServer = HTTP.Server(refusal: refusal) { request, _ in .response(await admin.respond(to: request)) }
    }

    /// Where the server listens once it has started; the ports are the real ones also where 0 was asked for.
    package struct Addresses: Sendable {
        package let api: SocketAddress
        package let admin: SocketAddress
    }

    /// How the workers are set going.
    package enum WorkMode: Sendable {
        case byItself
        /// Only by `workOnce()`: for tests that have to see every step.
        case whenTold
    }

    /// Waits for the database, checks its schema, listens, and sets the workers going.
    ///
    /// Throws when the schema is not this program's, or an address is in use.
    /// Sockets that were inherited under the names `api` and `admin` take the place of the settings' addresses.
    package func start(
        work mode: WorkMode = .byItself, inheriting inherited: InheritedListeners = InheritedListeners()
    ) async throws -> Addresses {
        for weakness in settings.warnings {
            log.warning("settings.weak", metadata: ["name": "\(weakness.name)", "reason": "\(weakness.message)"])
        }
        try await waitForSchema()
        startGauges()
        var inherited = inherited
        let names = Self.listenerNames
        let listener = try inherited.remove(names.api, among: names.all) ?? Listener(at: settings.listen)
        let adminListener = try inherited.remove(names.admin, among: names.all) ?? Listener(at: settings.adminListen)
        listeners.withLock { $0 = [(names.api, listener), (names.admin, adminListener)] }
        try await adminServer.listen(to: adminListener, on: [loops[0]])
        await loadKeys(mode)
        dependencies.changes.start()
        if mode == .byItself { startWork() }
        try await server.listen(to: listener, on: loops)
        let addresses = Addresses(api: listener.address, admin: adminListener.address)
        log.info(
            "server.started",
            metadata: [
                "listen": "\(addresses.api)", "admin_listen": "\(addresses.admin)", "pid": "\(getpid())",
            ])
        return addresses
    }

    /// Whether it has begun to listen. Before that it waits for its database, and has nothing to finish.
    package var hasListened: Bool { listeners.withLock { !$0.isEmpty } }

    /// Reads certificate and key anew, for the connections to come; those that stand keep theirs. What is wrong with
    /// the files is told to the log, and the old ones go on.
    package func reloadCertificate() {
        guard let files = settings.tls else { return }
        do {
            server.replaceTLS(
                try TLSContext.server(certificateChain: files.certificateFile, privateKey: files.keyFile))
            log.notice("tls.reloaded")
        } catch {
            log.error("tls.reload_failed", metadata: ["reason": "\(error)"])
        }
    }

    /// Starts the program anew with the listening sockets of this one. `outcome` is called on the loop with whether it
    /// serves.
    ///
    /// Throws when it cannot be started, or while there are no sockets to hand over: before this one listens, two would
    /// start side by side and fight for the address.
    package func handOver(
        to arguments: [String], on loop: EventLoop, outcome: @escaping (Bool) -> Void
    ) throws(SystemError) -> Handover {
        let listeners = listeners.withLock { $0 }
        guard !listeners.isEmpty else { throw SystemError("listen", code: ENOTCONN) }
        return try Handover(to: arguments, listeners: listeners, on: loop, outcome: outcome)
    }

    private static let listenerNames = (api: "api", admin: "admin", all: ["api", "admin"])

    /// Stops accepting, finishes what was accepted, ends the workers after their present pass, and closes.
    package func stop() async {
        log.info("server.draining")
        health.drain()
        // The port is closed as soon as its listener is released.
        listeners.withLock { $0 = [] }
        let tasks = work.withLock { $0 }
        dependencies.closeWebhookIntake()
        for task in tasks { task.cancel() }
        await server.drain(loops: loops, within: Self.drainDeadline)
        for task in tasks { _ = await task.result }
        _ = await loops[0].task { [dependencies] in await dependencies.giveBackWebhooks() }.result
        await institutions.finish()
        await dependencies.changes.stop()
        await adminServer.drain(loops: [loops[0]], within: .seconds(1))
        for loop in loops { await Task(executorPreference: loop) { [database] in await database.close() }.value }
        log.info("server.stopped")
    }

    /// How things stand with Belvo.
    var belvoSnapshot: GateSnapshot { dependencies.gate.snapshot }

    /// Has every worker make one pass, one after the other.
    func workOnce() async throws {
        for worker in workers { _ = try await worker.runOnce() }
    }

    /// The workers that poll records, and those that send events to the shop.
    private var workers: [any DueWorker] { backgroundDependencies.workers + (delivery.map { [$0.worker] } ?? []) }

    private func waitForSchema() async throws {
        let migrator = Migrator(.merchant, of: database)
        while true {
            do {
                let status = try await migrator.status()
                guard status == .upToDate else { throw SchemaRefused(status: status) }
                return
            } catch let error as DatabaseError {
                guard case .unavailable = error else { throw error }
                log.warning("database.unavailable", metadata: ["reason": "\(error)"])
                try await loops[0].sleep(for: .seconds(1))
            }
        }
    }

    /// Reads the keys that tokens are checked with, so that the first request need not.
    ///
    /// The server starts without them too: the log and `/readyz` tell, and requests get 503 with `Retry-After`. An
    /// address is left to the task that keeps the keys fresh, because its server may be slow.
    private func loadKeys(_ mode: WorkMode) async {
        if case .jwksURL = settings.auth.keys, mode == .byItself { return }
        // Told to the log by the authenticator itself.
        _ = try? await authenticator.loadKeys()
    }

    private func startWork() {
        let loop = loops[0]
        let pause = min(dependencies.timeouts.pollInterval / 2, .seconds(1))
        let due = DueLoop(
            workers: workers, due: { [dependencies] in try await dependencies.dueTables(among: $0) },
            pause: pause,
            log: log)
        let retention = WorkLoop(
            worker: Retention(store: dependencies.store, log: log), pause: Retention.pause, log: log)
        var tasks = [
            loop.task { try await due.run(on: loop) }, loop.task { try await retention.run(on: loop) },
        ]
        tasks.append(loop.task { [authenticator] in await authenticator.run() })
        tasks.append(
            loop.task { [self] in
                while true {
                    try await loop.sleep(for: .seconds(1))
                    tellOfLinesLeftOut()
                }
            })
        work.withLock { $0 += tasks }
    }

    /// A flood of lines ends, and with it the lines that would say how many were left out.
    func tellOfLinesLeftOut() {
        for (event, lines) in logThrottle.takeLeftOut() {
            log.warning("log.lines_left_out", metadata: ["of": "\(event)", "lines": .stringConvertible(lines)])
        }
    }

    private func startGauges() {
        let tasks = zip(loops, gauges).map { loop, gauge in
            loop.task { [database] in try await gauge.run(on: loop, database) }
        }
        work.withLock { $0 += tasks }
    }
}

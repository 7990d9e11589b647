import Belvo
import FoundationEssentials
import Logging
import Payments
import Postgres
import Transport

@testable import BelvoGate
@testable import HTTP
@testable import MerchantAPI
@testable import MerchantAuth
@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// One instance of the merchant's server in a simulation: the production code from the router to the workers, with the
/// outside world handed in. Only what carries bytes (listeners, connections) is missing.
struct SimulatedServer: Sendable {
    let party: Party
    private let api: API
    private let due: DueLoop
    private let background: Dependencies
    private let database: Database
    private let scheduler: Scheduler

    init(
        number: Int, settings: Settings, database: SimulatedDatabase, belvo: SimulatedBelvo, scheduler: Scheduler,
        log: Logger
    ) throws {
        let party = Party.server(number)
        self.party = party
        self.scheduler = scheduler
        let reached = try database.reached(by: party)
        self.database = reached
        let monotonic = { @Sendable in SimulatedTime.monotonic(scheduler.elapsed) }
        // A server that has much to do looks later than it should; so much is saved of days in which little happens.
        let clock = IntervalClock(now: monotonic) {
            await scheduler.pause(
                party, "looks for work", weight: 4,
                for: max(scheduler.span($0, $0 * 4), scheduler.leastSleep))
        }
        let gate = BelvoGate(
            rate: 0, callsMax: 1_000, log: log, now: monotonic,
            random: { Double(scheduler.number(0...999)) / 1_000 })
        let send: Belvo.Client.Send = { try await belvo.carry($0, within: $1, from: party) }
        var configuration = Belvo.Configuration(
            origin: settings.belvoBaseURL.origin, credentials: settings.belvoCredentials)
        configuration.timeout = settings.timeouts.callDeadline
        let dependencies = Dependencies(
            settings, database: reached,
            belvo: Belvo.Client(carry: gate.carry(for: .person, by: send), configuration: configuration), gate: gate,
            changes: ChangeFeed(loops: [scheduler.loop], database: reached), log: log, monotonic: monotonic,
            identities: Identities(
                now: { SimulatedTime.moment(scheduler.elapsed) }, draw: { scheduler.bits() }))
        var background = dependencies
        // A day has few payments at a time: lists are asked from the first or the second one on, or never.
        background.listPolling.countMin = scheduler.pick([1, 2, 1_000]) ?? 1
        background.belvo = Belvo.Client(carry: gate.carry(for: .background, by: send), configuration: configuration)
        self.background = background
        let store = dependencies.store
        due = DueLoop(
            workers: background.workers, due: { try await dependencies.dueTables(among: $0) }, pause: .seconds(1),
            log: log, sleep: clock.sleep)
        let authenticator = Authenticator(
            settings.auth, now: { SimulatedTime.moment(scheduler.elapsed) },
            dependencies: try .live(settings.auth, clock, log))
        api = API(
            dependencies: dependencies, authenticator: authenticator,
            institutions: InstitutionCatalog(belvo: dependencies.belvo, loop: scheduler.loop, log: log, now: monotonic),
            health: Health(store: store, authenticator: authenticator, gate: gate),
            callbackPage: CallbackPage(appLink: nil, pollInterval: settings.timeouts.pollInterval),
            access: AccessRules(settings, clock: clock), associations: AppAssociations(settings),
            vault: store.vault, counts: RequestCounts())
    }

    /// Begins to look at records by itself.
    func start() async throws {
        _ = try await api.authenticator.loadKeys()
        _ = scheduler.loop.task { [due, scheduler] in try await due.run(on: scheduler.loop) }
    }

    /// Answers a request, as a connection would ask it to.
    func respond(to request: Request) async -> Response? {
        let context = RequestContext(peer: IPAddress("127.0.0.1")!, isSecure: true, arrivedAt: .now())
        guard case .response(let response) = await api.handle(request, context).reply else { return nil }
        return response
    }

    /// Compares the day with Belvo, as an operator has it done every night.
    func reconcile() async throws -> [Difference] {
        try await Reconciliation(dependencies: background).run(UTCDay(of: SimulatedTime.beginning))
    }

    /// Erases a person; false when there is none.
    func erase(_ user: String) async throws -> Bool {
        let pseudonym = try UserSubject("erased-\(background.identities.next())")
        return try await background.store.erase(try UserSubject(user), as: pseudonym) != nil
    }

    /// Lets go of what a dead process would not hold.
    func close() async {
        await database.close()
    }
}

import Belvo
import BelvoGate
import HTTP
import Logging
import MerchantAPI
import MerchantStore
import MerchantWorkflows
import Postgres
import Transport

/// `GET /metrics`: everything that is counted and measured here, gathered for each scrape.
///
/// It is answered whatever is away: what the database would say about records is left out when it does not say it in
/// time, and no other loop is waited for.
struct MetricsPage: Sendable {
    /// Less than the ten seconds after which Prometheus gives up.
    static let databaseDeadline = Duration.seconds(2)

    let requests: RequestCounts
    let loops: [LoopGauge]
    let dependencies: Dependencies
    let access: AccessRules
    let logThrottle: LogThrottle
    let server: HTTP.Server
    private let startTime = ProcessFigures.startTime

    init(
        requests: RequestCounts, loops: [LoopGauge], dependencies: Dependencies, access: AccessRules,
        logThrottle: LogThrottle,
        server: HTTP.Server
    ) {
        self.requests = requests
        self.loops = loops
        self.dependencies = dependencies
        self.access = access
        self.logThrottle = logThrottle
        self.server = server
    }

    func response() async -> Response {
        let workload = await workload()
        var text = MetricsText()
        requests.write(to: &text)
        dependencies.funnelCounts.write(to: &text)
        text.write(.waitingRequests, .count(dependencies.changes.watching))
        let unsent = server.unsentReading
        text.write(.unsentBytes, .count(unsent.bytes))
        text.write(.hungUp, .count(unsent.hungUp))
        let unfinished = server.unfinishedReading
        text.write(.unfinishedBytes, .count(unfinished.bytes))
        text.write(.unfinishedRefused, .count(unfinished.refused))
        text.write(.strangersRefused, .count(access.refusedByAddress))
        text.write(.linesLeftOut, .count(logThrottle.leftOut))
        write(dependencies.gate.snapshot, to: &text)
        text.write(.databaseUp, .flag(workload != nil))
        if let workload { write(workload, to: &text) }
        // A database that did not answer once is not waited for again: the page would come too late for the collector.
        if workload != nil, let alarms = await openAlarms() {
            text.write(.moneyAlarms) { samples in
                for kind in MoneyAlarm.Kind.allCases { samples.add([kind.rawValue], .whole(alarms[kind] ?? 0)) }
            }
        }
        writeLoops(to: &text)
        writeProcess(to: &text)
        return Response(
            .ok, headers: ["content-type": .init(MetricsText.contentType), "cache-control": "no-store"],
            body: text.bytes)
    }

    /// Nothing when the database does not answer in time; the log says why.
    private func workload() async -> [Workload]? {
        do {
            return try await dependencies.store.workload(within: Self.databaseDeadline)
        } catch {
            dependencies.log.warning("metrics.workload_unread", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    private func openAlarms() async -> [MoneyAlarm.Kind: Int64]? {
        do {
            return try await dependencies.store.openAlarms(within: Self.databaseDeadline)
        } catch {
            dependencies.log.warning("metrics.alarms_unread", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    private func write(_ gate: GateSnapshot, to text: inout MetricsText) {
        text.write(.belvoCalls) { samples in
            for call in Call.allCases {
                for outcome in CallOutcome.Kind.allCases {
                    samples.add([call.rawValue, outcome.rawValue], .count(gate.count(call, outcome)))
                }
            }
        }
        text.write(.belvoSeconds) { samples in
            for call in Call.allCases {
                if let reading = gate.latencies[call] { samples.add([call.rawValue], reading) }
            }
        }
        text.write(.belvoUnderWay) { samples in
            for caller in Caller.allCases { samples.add([caller.rawValue], .count(gate.underWay[caller])) }
        }
        text.write(.belvoInLine) { samples in
            for caller in Caller.allCases { samples.add([caller.rawValue], .count(gate.waiting[caller])) }
        }
        text.write(.belvoCircuit) { samples in
            for state in CircuitBreaker.State.allCases { samples.add([state.rawValue], .flag(state == gate.circuit)) }
        }
        text.write(.belvoOpenings, .count(gate.openings))
        text.write(.belvoDenials, .count(gate.denials))
        text.write(.belvoLockedOut, .flag(gate.isLockedOut))
        text.write(.belvoRate, .whole(Int64(gate.rate)))
        text.write(.belvoSilence, .seconds(gate.quiet ?? .zero))
        text.write(.belvoShutForStrangers, .flag(gate.isShutForStrangers))
    }

    private func write(_ workload: [Workload], to text: inout MetricsText) {
        text.write(.recordsPending) { samples in
            for kind in workload { samples.add([kind.name], .whole(kind.pending)) }
        }
        text.write(.recordsOldest) { samples in
            for kind in workload { samples.add([kind.name], .seconds(kind.oldestPending ?? .zero)) }
        }
        text.write(.recordsOverdue) { samples in
            for kind in workload { samples.add([kind.name], .seconds(kind.mostOverdue ?? .zero)) }
        }
        for kind in workload {
            guard let inDoubt = kind.inDoubt else { continue }
            text.write(.paymentsInDoubt, .whole(inDoubt))
            text.write(.paymentsOldestInDoubt, .seconds(kind.oldestInDoubt ?? .zero))
        }
        for kind in workload {
            if let parked = kind.parked { text.write(.eventsParked, .whole(parked)) }
        }
    }

    private func writeLoops(to text: inout MetricsText) {
        let now = Monotonic.now()
        let readings = loops.enumerated().map { (name: "\($0)", reading: $1.read(at: now)) }
        for (metric, figure) in [
            (Metric.poolConnections, \PoolLoad.connections), (.poolBorrowed, \.borrowed),
            (.poolStatements, \.outstanding), (.poolWaiting, \.waiting),
        ] {
            text.write(metric) { samples in
                for (name, reading) in readings {
                    for load in reading.pools {
                        samples.add([name, load.pool.rawValue], .count(load[keyPath: figure]))
                    }
                }
            }
        }
        text.write(.loopDelay) { samples in
            for (name, reading) in readings { samples.add([name], .seconds(reading.delayMax)) }
        }
    }

    private func writeProcess(to text: inout MetricsText) {
        text.write(.processCPU, .seconds(ProcessFigures.cpuTime))
        for (metric, figure) in [
            (Metric.processMemory, ProcessFigures.residentBytes),
            (.processDescriptors, ProcessFigures.openDescriptors),
            (.processDescriptorsMax, ProcessFigures.descriptorsMax),
        ] {
            if let figure { text.write(metric, .count(figure)) }
        }
        if let startTime { text.write(.processStart, .seconds(startTime)) }
    }
}

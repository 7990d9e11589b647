/// Every figure that `/metrics` shows, under its Prometheus name: seconds and bytes as units, `_total` for what only
/// grows. `docs/metrics.md` has the same list, held equal by a test.
enum Metric: String, CaseIterable, Sendable {
    case requests = "merchant_requests_total"
    case requestSeconds = "merchant_request_seconds"
    case stateEntries = "merchant_state_entries_total"
    case failures = "merchant_failures_total"
    case waitingRequests = "merchant_waiting_requests"
    case unsentBytes = "merchant_unsent_bytes"
    case hungUp = "merchant_slow_readers_hung_up_total"
    case unfinishedBytes = "merchant_unfinished_bytes"
    case unfinishedRefused = "merchant_unfinished_refused_total"
    case strangersRefused = "merchant_strangers_refused_total"
    case linesLeftOut = "merchant_log_lines_left_out_total"
    case belvoCalls = "merchant_belvo_calls_total"
    case belvoSeconds = "merchant_belvo_call_seconds"
    case belvoUnderWay = "merchant_belvo_calls_under_way"
    case belvoInLine = "merchant_belvo_calls_in_line"
    case belvoCircuit = "merchant_belvo_circuit"
    case belvoOpenings = "merchant_belvo_circuit_openings_total"
    case belvoDenials = "merchant_belvo_denials_total"
    case belvoLockedOut = "merchant_belvo_locked_out"
    case belvoRate = "merchant_belvo_rate"
    case belvoSilence = "merchant_belvo_silence_seconds"
    case belvoShutForStrangers = "merchant_belvo_shut_for_strangers"
    case databaseUp = "merchant_database_up"
    case recordsPending = "merchant_records_pending"
    case recordsOldest = "merchant_records_oldest_pending_seconds"
    case recordsOverdue = "merchant_records_overdue_seconds"
    case paymentsInDoubt = "merchant_payments_in_doubt"
    case paymentsOldestInDoubt = "merchant_payments_oldest_in_doubt_seconds"
    case eventsParked = "merchant_events_parked"
    case moneyAlarms = "merchant_money_alarms"
    case poolConnections = "merchant_database_connections"
    case poolBorrowed = "merchant_database_connections_borrowed"
    case poolStatements = "merchant_database_statements_under_way"
    case poolWaiting = "merchant_database_callers_waiting"
    case loopDelay = "merchant_loop_delay_seconds"
    case processCPU = "process_cpu_seconds_total"
    case processMemory = "process_resident_memory_bytes"
    case processDescriptors = "process_open_fds"
    case processDescriptorsMax = "process_max_fds"
    case processStart = "process_start_time_seconds"

    /// The type of the metric, as the text format calls it.
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    var name: String { rawValue }

    var kind: Kind {
        switch self {
        case .requests, .stateEntries, .failures, .hungUp, .unfinishedRefused, .strangersRefused, .linesLeftOut,
            .belvoCalls,
            .belvoOpenings, .belvoDenials,
            .processCPU:
            .counter
        case .requestSeconds, .belvoSeconds: .histogram
        default: .gauge
        }
    }

    /// The names of its labels, in the order in which values are given for them.
    var labels: [String] {
        switch self {
        case .requests: ["operation", "status"]
        case .requestSeconds: ["operation"]
        case .stateEntries: ["record", "state"]
        case .failures: ["record", "code", "reason"]
        case .belvoCalls: ["call", "outcome"]
        case .belvoSeconds: ["call"]
        case .belvoUnderWay, .belvoInLine: ["caller"]
        case .belvoCircuit: ["state"]
        case .recordsPending, .recordsOldest, .recordsOverdue: ["record"]
        case .moneyAlarms: ["kind"]
        case .poolConnections, .poolBorrowed, .poolStatements, .poolWaiting: ["loop", "lane"]
        case .loopDelay: ["loop"]
        default: []
        }
    }

    /// One line on what it is.
    var help: String {
        switch self {
        case .requests: "Requests to the API that were answered, by operation and class of status."
        case .requestSeconds:
            "Time from a request's last byte to its answer; of a long poll only what follows the end of its wait."
        case .stateEntries: "Enrollments and payments that entered a state, by the state."
        case .failures: "Enrollments and payments that failed, by why and by what their users may do next."
        case .waitingRequests: "Long polls that wait for a record to change."
        case .unsentBytes: "Bytes of answers that clients have not taken yet."
        case .hungUp: "Connections that were hung up on because too many bytes waited for slow readers."
        case .unfinishedBytes: "Bytes of long requests that have not come to their end."
        case .unfinishedRefused:
            "Requests that were refused before their end because too many bytes of others had come."
        case .strangersRefused:
            "Requests that were refused because too many without a good token, or too many redirects, had come."
        case .linesLeftOut: "Lines that are missing in the log because there were too many of their event."
        case .belvoCalls: "Calls to Belvo that ended, by how; held_back ones never left."
        case .belvoSeconds: "Time from when a call left for Belvo until it ended, however it ended."
        case .belvoUnderWay: "Calls that have left for Belvo and are not answered, by who wants them."
        case .belvoInLine: "Calls to Belvo that wait for their turn in the budget, by who wants them."
        case .belvoCircuit: "1 for the state that the circuit to Belvo is in, 0 for the others."
        case .belvoOpenings: "How often the circuit has opened because Belvo was away."
        case .belvoDenials: "Answers 401 and 403 from Belvo."
        case .belvoLockedOut: "1 while Belvo rejects our credentials: they are the first suspect."
        case .belvoRate:
            "Calls a second that may leave for Belvo: BELVO_RATE, or less while Belvo grants less; 0 is no limit."
        case .belvoSilence: "For how much longer Belvo is left alone because it asked for that with a 429."
        case .belvoShutForStrangers:
            "1 while calls for strangers' redirects are held back here, because of how they ended."
        case .databaseUp: "1 where the database answered this scrape; without it the figures of records are missing."
        case .recordsPending: "Records that are not at their end; webhooks are the inbox, events the outbox."
        case .recordsOldest: "Age of the oldest of them; 0 where there is none."
        case .recordsOverdue: "How late the most overdue look or attempt is; 0 where none is."
        case .paymentsInDoubt: "Authorized payments past their deadline without a word from Belvo on how they ended."
        case .paymentsOldestInDoubt: "For how long the oldest of them has been in doubt; 0 where there is none."
        case .moneyAlarms: "Unsettled alarms about money, by what is wrong; ops.money_alarms lists them."
        case .eventsParked: "Events that the shop was not told in three days and that wait for merchant requeue."
        case .poolConnections: "Connections to the database that are open."
        case .poolBorrowed: "Connections that a transaction has for itself."
        case .poolStatements: "Statements sent to the database and not answered."
        case .poolWaiting: "Callers that wait for a connection to the database."
        case .loopDelay: "The latest that a timer of a second came on an event loop since the last scrape."
        case .processCPU: "Processor time used, of users and of the system."
        case .processMemory: "Memory in use."
        case .processDescriptors: "Descriptors that are open: each connection is one."
        case .processDescriptorsMax: "Descriptors that may be open."
        case .processStart: "When the process started, in seconds since 1970."
        }
    }
}

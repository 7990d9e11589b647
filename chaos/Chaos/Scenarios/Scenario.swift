/// Something that goes wrong in earnest.
public enum Scenario: String, CaseIterable, Sendable {
    case kill
    case restart
    case commit
    case disk
    case lock
    case failover
    case silence
    case fleet
    case storm

    /// Plays it, and gives a verdict for each thing that it has shown.
    public func play(with tools: Tools) async throws -> [Report] {
        switch self {
        case .kill: try await KillAtEveryStep(tools: tools).play()
        case .restart: try await DatabaseRestarts(tools: tools).play()
        case .commit: try await LostCommits(tools: tools).play()
        case .disk: try await FullDisk(tools: tools).play()
        case .lock: try await HeldLock(tools: tools).play()
        case .failover: try await Failover(tools: tools).play()
        case .silence: try await Failover(tools: tools).playSilence()
        case .fleet: try await ThreeInstances(tools: tools).play()
        case .storm: try await Storms(tools: tools).play()
        }
    }

    /// What it does, in one line.
    public var summary: String {
        switch self {
        case .kill: "the server is killed with -9 before and after every message"
        case .restart: "PostgreSQL is stopped with -m immediate and started, again and again"
        case .commit: "the word that a write is committed is lost, and the connection with it"
        case .disk: "PostgreSQL's disk is full for a while"
        case .lock: "somebody holds a lock on the payments for ten seconds"
        case .failover: "the primary is killed with -9 and the standby promoted; an asynchronous one as control"
        case .silence: "the primary falls silent (SIGSTOP) and the standby is promoted"
        case .fleet: "of three instances behind HAProxy one is killed and one paused for longer than its lease"
        case .storm: "webhooks and redirects come a hundredfold, reordered, forged, before our own commit"
        }
    }
}

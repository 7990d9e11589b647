import CLibpq
import Glibc
import Synchronization
import Transport

/// Opens sessions, on any loop: tries the hosts in order, each address within its own time.
///
/// Wraps `PQconnectStartParams` and `PQconnectPoll`. These know no timeout, and would resolve names inside the call;
/// so each address is handed over as a number, and a silent one costs only its own share.
final class ConnectionOpener: Sendable {
    let target: ConnectionTarget
    let configuration: DatabaseConfiguration
    /// The host that was good last is asked first: looking again costs the silence of those before it.
    private let lastGood = Mutex(0)
    /// The reports about servers that may lose commits which they confirm.
    private let warned = Mutex<[String: [String]]>([:])

    init(target: ConnectionTarget, configuration: DatabaseConfiguration) {
        self.target = target
        self.configuration = configuration
    }

    /// Whether another session has found another server since, to which new sessions go: this one's may be what is left
    /// of a leader that was replaced while it stood still, and what it reads may be out of date.
    func isSuperseded(_ server: String) -> Bool {
        target.hosts.count > 1 && target.hosts[lastGood.withLock { $0 }].label != server
    }

    /// Opens a session in pipeline mode with its settings made.
    func open(on loop: EventLoop, for pool: PoolName) async throws -> Connection {
        let session = try await connect(on: loop, for: pool)
        let connection = try Connection(
            owning: session.handle, server: session.server, pool: pool, configuration: configuration, on: loop)
        let settings = Exchange(
            SessionSettings(configuration, isReadOnly: pool == .read).statement, effect: .control,
            deadline: Monotonic.now() + configuration.connectTimeout)
        do {
            let answer = try await connection.perform(settings).get()
            warn(of: try SessionSettings.turnedOff(in: answer.rows), at: session.server)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    /// Once for each server, and again when it says something else.
    private func warn(of settings: [String], at server: String) {
        let wasTold = warned.withLock { warned in
            let before = warned.updateValue(settings, forKey: server)
            return (before ?? []) == settings
        }
        if !wasTold, !settings.isEmpty { configuration.onEvent(.notDurable(server: server, turnedOff: settings)) }
    }

    /// Opens a session and leaves it as libpq made it.
    func connect(on loop: EventLoop, for pool: PoolName) async throws -> Session {
        let began = lastGood.withLock { $0 }
        var reasons: [String] = []
        for offset in target.hosts.indices {
            let index = (began + offset) % target.hosts.count
            let host = target.hosts[index]
            do {
                let session = try await connect(to: host, on: loop)
                lastGood.withLock { $0 = index }
                configuration.onEvent(.connected(pool: pool, server: host.label))
                return session
            } catch let failure as AttemptFailure {
                reasons.append("\(host.label): \(failure.reason)")
            }
            try Task.checkCancellation()
        }
        let reason = reasons.joined(separator: "; ")
        configuration.onEvent(.connectionFailed(pool: pool, reason: reason))
        throw DatabaseError.unavailable(reason: reason)
    }

    private func connect(to host: ConnectionTarget.Host, on loop: EventLoop) async throws -> Session {
        var failure = AttemptFailure(reason: "the name has no address")
        for address in try await addresses(of: host, on: loop) {
            do {
                let handle = try await connect(to: host, at: address, on: loop)
                return Session(handle: handle, server: host.label)
            } catch let error as AttemptFailure {
                failure = error
            }
        }
        throw failure
    }

    /// Nothing stands for a socket in a directory, which needs no address.
    private func addresses(of host: ConnectionTarget.Host, on loop: EventLoop) async throws -> [String?] {
        if let address = host.address { return [address] }
        guard !host.isLocal, let name = host.name, let port = UInt16(host.port) else { return [nil] }
        do {
            return try await BoundedResolution.resolve(name, port: port, on: loop, within: timeout).map(\.host)
        } catch let error as ResolutionError {
            throw AttemptFailure(reason: error.reason)
        } catch WaitError.timedOut {
            throw AttemptFailure(reason: "the name was not resolved in time")
        }
    }

    private func connect(
        to host: ConnectionTarget.Host, at address: String?, on loop: EventLoop
    ) async throws -> OpaquePointer {
        let deadline = Monotonic.now() + timeout
        guard let handle = start(host, address) else { throw AttemptFailure(reason: "out of memory") }
        do {
            var status = PGRES_POLLING_WRITING
            while true {
                if PQstatus(handle) == CONNECTION_BAD || status == PGRES_POLLING_FAILED {
                    throw AttemptFailure(reason: errorText(of: handle))
                }
                if status == PGRES_POLLING_OK { return handle }
                // libpq may close the socket and open another within a poll, so each wait registers it anew.
                let interest: Interest = status == PGRES_POLLING_READING ? .readable : .writable
                try await ReadinessWait.wait(for: PQsocket(handle), interest, on: loop, until: deadline)
                status = PQconnectPoll(handle)
            }
        } catch WaitError.timedOut {
            PQfinish(handle)
            throw AttemptFailure(reason: "no answer within \(timeout)")
        } catch WaitError.cancelled {
            PQfinish(handle)
            throw CancellationError()
        } catch {
            PQfinish(handle)
            throw error
        }
    }

    private var timeout: Duration { target.connectTimeout ?? configuration.connectTimeout }

    private func start(_ host: ConnectionTarget.Host, _ address: String?) -> OpaquePointer? {
        // These hold unless the connection string says otherwise. A peer that vanished is noticed after 10 seconds
        // when something is under way, and after a minute when nothing is. GSSAPI would ask a ticket server, blocking.
        var options = [
            "fallback_application_name": configuration.applicationName, "gssencmode": "disable",
            "tcp_user_timeout": "10000", "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3",
        ].merging(target.options) { $1 }
        options["client_encoding"] = "UTF8"
        options["port"] = host.port
        options["host"] = host.name
        options["hostaddr"] = address
        let strings = options.flatMap { [strdup($0.key), strdup($0.value)] }
        defer { for string in strings { free(string) } }
        let keywords = stride(from: 0, to: strings.count, by: 2).map { UnsafePointer(strings[$0]) } + [nil]
        let values = stride(from: 1, to: strings.count, by: 2).map { UnsafePointer(strings[$0]) } + [nil]
        return PQconnectStartParams(keywords, values, 0)
    }
}

/// A connected handle that a caller has to take over.
struct Session {
    let handle: OpaquePointer
    let server: String
}

/// One address that did not become a connection.
private struct AttemptFailure: Error {
    let reason: String
}

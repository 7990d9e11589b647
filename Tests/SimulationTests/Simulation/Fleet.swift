import HTTP
import Logging
import Transport

@testable import MerchantModel

/// The servers that are alive, and the way to them.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class Fleet: @unchecked Sendable {
    private let scheduler: Scheduler
    private let make: (_ number: Int) throws -> SimulatedServer
    private var servers: [SimulatedServer] = []
    private var count = 0
    private var letters: [Party: [Letter]] = [:]
    /// What servers have said, whether or not anybody has heard it.
    private(set) var said: [Said] = []
    /// Who may have been erased.
    private(set) var erased: Set<String> = []

    /// An answer that has left a server.
    struct Said {
        let user: String
        let request: Request
        let response: Response
    }

    init(scheduler: Scheduler, make: @escaping (_ number: Int) throws -> SimulatedServer) {
        self.scheduler = scheduler
        self.make = make
    }

    /// Puts another server into service.
    func add() async throws {
        count += 1
        let server = try make(count)
        try await server.start()
        servers.append(server)
        scheduler.note("\(server.party) is there")
    }

    /// Kills one of the servers as `kill -9` does: whatever it was at ends where it stands.
    func killOne() async {
        guard let server = scheduler.pick(servers) else { return }
        scheduler.note("\(server.party) is killed")
        servers.removeAll { $0.party == server.party }
        scheduler.kill(server.party)
        hangUp(server.party)
        await scheduler.really { await server.close() }
    }

    /// Pauses one of the servers for longer than any lease.
    func freezeOne() {
        guard let server = scheduler.pick(servers) else { return }
        scheduler.note("\(server.party) is paused")
        scheduler.freeze(server.party, for: scheduler.span(.seconds(5), .seconds(90)))
        // Those who wait lose their patience, or not.
        if scheduler.chance(50) { hangUp(server.party) }
    }

    /// Compares the day with Belvo.
    func reconcile() async throws -> [Difference] {
        try await servers.first?.reconcile() ?? []
    }

    /// Erases a person, as an operator does when that person asks for it; refused while anything is open.
    func erase(_ user: String) async {
        guard let server = scheduler.pick(servers) else { return }
        do {
            guard try await server.erase(user) else { return }
            scheduler.note("\(user) is erased")
            erased.insert(user)
        } catch {
            scheduler.note("\(user) is not erased")
        }
    }

    func closeAll() async {
        for server in servers { await server.close() }
    }

    /// Sends a request to one of the servers; nil when it, or its answer, was lost.
    func send(_ request: Request, of user: String, by sender: Party) async -> Response? {
        let name = "\(request.method) \(request.target.path)"
        await scheduler.pause(sender, "sends \(name)")
        if scheduler.fault(among: [.requestLost]) != nil { return nil }
        guard let server = scheduler.pick(servers) else { return nil }
        let letter = Letter()
        letters[server.party, default: []].append(letter)
        _ = scheduler.loop.task { [self] in
            let response = await server.respond(to: request)
            if let response { said.append(Said(user: user, request: request, response: response)) }
            letter.deliver(response)
        }
        let response = await letter.response()
        await scheduler.pause(
            sender, "hears \(response.map { "\($0.status.code)" } ?? "nothing") from \(server.party) to \(name)")
        if response == nil || scheduler.fault(among: [.answerLost]) != nil { return nil }
        return response
    }

    private func hangUp(_ party: Party) {
        for letter in letters.removeValue(forKey: party) ?? [] { letter.deliver(nil) }
    }

    /// Where the answer to one request arrives.
    ///
    /// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
    private final class Letter: @unchecked Sendable {
        private var continuation: UnsafeContinuation<Response?, Never>?
        private var delivered: Response??

        func response() async -> Response? {
            await withUnsafeContinuation { continuation in
                if let delivered { return continuation.resume(returning: delivered) }
                self.continuation = continuation
            }
        }

        /// The first delivery counts.
        func deliver(_ response: Response?) {
            guard delivered == nil else { return }
            delivered = .some(response)
            continuation?.resume(returning: response)
            continuation = nil
        }
    }
}

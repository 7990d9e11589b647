import Transport

// When there are as many connections as there may be.
extension LoopServer {
    /// Connections that are closed at a time, so that not every new connection has all of them checked.
    private static let closedMax = 32
    /// An address with fewer of them than this has no more than a household's.
    private static let crowdOfAddressMin = 8

    /// Closes connections on which nothing is under way, of the address that has most of them here, those first that
    /// have been idle for longest; true when there is room now. A proxy's are many clients' and stay.
    func makeRoom() -> Bool {
        var counts: [IPAddress: Int] = [:]
        let resting = connections.filter { $0.mayMakeRoom && !server.configuration.isProxy($0.peer) }
        for connection in resting { counts[connection.peer.subscriber, default: 0] += 1 }
        guard let most = counts.values.max() else { return false }
        let isCrowd = most >= Self.crowdOfAddressMin
        let candidates = isCrowd ? resting.filter { counts[$0.peer.subscriber] == most } : resting
        close(isCrowd ? most / 2 : (resting.count + 1) / 2, of: candidates)
        return true
    }

    /// The same for an address that has as many connections as it may; false where it has no crowd of idle ones here.
    func makeRoom(of peer: IPAddress) -> Bool {
        let resting = connections.filter { $0.mayMakeRoom && $0.peer.subscriber == peer.subscriber }
        guard resting.count >= Self.crowdOfAddressMin else { return false }
        close(resting.count / 2, of: resting)
        return true
    }

    /// Closes so many at most, those first that have been idle for longest.
    private func close(_ count: Int, of candidates: [ServerConnection]) {
        for connection in candidates.sorted(by: { $0.deadline < $1.deadline }).prefix(min(Self.closedMax, count)) {
            connection.close()
        }
    }
}

extension ServerConnection {
    /// Whether nothing is under way here that was begun for its client.
    var mayMakeRoom: Bool {
        guard isAdmitted, unsent.isEmpty else { return false }
        return switch phase {
        case .greeting, .idle, .receiving, .resting, .lingering: true
        case .responding, .holding, .unheard, .closed: false
        }
    }
}

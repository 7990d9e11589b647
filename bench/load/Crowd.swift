import Transport

/// Users who all do the same, each as fast as the server lets it: a closed load.
struct Crowd {
    private var users: [User]
    private let loop: EventLoop
    private let tally = Tally()
    private var working: [Task<User, any Error>] = []

    init(_ users: [User], on loop: EventLoop) {
        self.users = users
        self.loop = loop
    }

    /// Does what the order says and gives the line that answers it.
    mutating func obey(_ order: Order) async throws -> String {
        switch order {
        case .begin(let deed, let count):
            begin(deed, by: count)
            return "begun"
        case .count:
            return tally.take().line
        case .end:
            try await end()
            return "ended"
        }
    }

    private mutating func begin(_ deed: Deed, by count: Int) {
        working = users.prefix(count).map { user in
            loop.task { [loop, tally] in await user.repeating(deed, on: loop, telling: tally) }
        }
        _ = tally.take()
    }

    /// Every phone comes back: it has counted its signatures.
    private mutating func end() async throws {
        for task in working { task.cancel() }
        for (index, task) in working.enumerated() { users[index] = try await task.value }
        working = []
    }
}

extension User {
    /// Does the deed until the task is cancelled.
    fileprivate func repeating(_ deed: Deed, on loop: EventLoop, telling tally: Tally) async -> User {
        var user = self
        while !Task.isCancelled {
            let start = Monotonic.now()
            do {
                switch deed {
                case .create: _ = try await user.createPayment()
                case .sign, .steady: _ = try await user.signPayment()
                case .pay: try await user.pay()
                }
                tally.add(Monotonic.now() - start)
                if deed == .steady { try await loop.sleep(for: .seconds(1)) }
            } catch is CancellationError {
                break
            } catch {
                tally.addFailure("\(error)")
                // An app that is refused does not come again at once.
                if deed == .steady { try? await loop.sleep(for: .seconds(1)) }
            }
        }
        return user
    }
}

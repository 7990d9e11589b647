/// Lets so many through at a time. Touched on one loop's thread only.
///
/// Thousands may be woken at the same moment, by the clock or by a lost connection. All at once they would find no
/// room in the line for the database, where those who come with a new request are waiting too.
final class ConcurrencyLimit {
    /// The greatest number at a time: as many statements as one connection to the database takes without an answer.
    static let width = 64

    private var free = ConcurrencyLimit.width
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// The index of the first that waits: taking the first out of a long line must not move all others up.
    private var next = 0

    /// Runs the body inside.
    func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
        defer { leave() }
        return try await body()
    }

    private func leave() {
        guard next < waiting.count else {
            free += 1
            return
        }
        let first = waiting[next]
        next += 1
        if next == waiting.count {
            waiting = []
            next = 0
        }
        first.resume()
    }
}

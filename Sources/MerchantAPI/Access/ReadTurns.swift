import MerchantModel
import Payments
import Synchronization
import Transport

/// The turns of each user's reads: one is answered at a time, and the others of the same user wait in their order.
///
/// Without them 32 long lists that one user asks for at the same moment are read and written one after the other before
/// anything of another user's, and many users' reads fill the line for the database. An app notices nothing: a read
/// takes a millisecond or a few.
package final class ReadTurns: Sendable {
    /// How long a read may wait for those before it. Past it the request is refused at its turn, so that the line of a
    /// database that is silent ends with the first answer.
    private static let waitMax: Duration = .seconds(5)
    private static let shardCount = 32
    private let shards: [Shard]

    package init() {
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    /// Runs the body at the user's turn. Throws `tooManyOfUserUnderWay` when that comes too late.
    nonisolated(nonsending) func run<Value>(
        for user: UserSubject, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let key = seededHash(of: user)
        let shard = shards[Int((key >> 32) % UInt64(Self.shardCount))]
        let begun = Monotonic.now()
        await withUnsafeContinuation { continuation in
            let isFirst = shard.lines.withLock { lines in
                guard lines[key] != nil else {
                    lines[key] = []
                    return true
                }
                lines[key]?.append(continuation)
                return false
            }
            if isFirst { continuation.resume() }
        }
        defer { shard.callNext(of: key) }
        guard Monotonic.now() - begun < Self.waitMax else { throw AccessRefusal.tooManyOfUserUnderWay }
        return try await body()
    }

    /// A part of the users under a lock of its own, so that the loops seldom meet at one.
    private final class Shard: Sendable {
        /// The waiting reads of each user whose read is being answered; `requestsPerUserMax` bounds them.
        let lines = Mutex<[UInt64: [UnsafeContinuation<Void, Never>]]>([:])

        func callNext(of key: UInt64) {
            let next = lines.withLock { lines -> UnsafeContinuation<Void, Never>? in
                guard let line = lines[key], !line.isEmpty else {
                    lines[key] = nil
                    return nil
                }
                return lines[key]?.removeFirst()
            }
            next?.resume()
        }
    }
}

import HTTP
import TestSupport
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

extension TestHarness {
    /// How many requests watch a record on this instance.
    var watchers: Int { merchant.dependencies.changes.watching }

    /// Returns as soon as so many requests watch a record on this instance.
    func awaitWatchers(_ count: Int) async throws {
        try await awaitCondition { watchers == count }
    }

    /// Lets the loop go on until the condition holds, a minute at most.
    func awaitCondition(_ condition: () async throws -> Bool) async throws {
        let end = Monotonic.now() + .seconds(60)
        while try await !condition() {
            try #require(Monotonic.now() < end, "it did not come to pass")
            try await loop.sleep(for: .milliseconds(1))
        }
    }

    /// A user's connection without anything on it that would help, to hang up at will.
    func connect() throws -> RawConnection { try RawConnection(port: addresses.api.port) }
}

extension App {
    /// Waits for a resource to be another one than that of `seen`; less than half of the wait is the test's patience.
    func wait(_ target: String, unlike seen: Answer, seconds: Int = 30) async throws -> Answer {
        let tag = try #require(seen.tag)
        return try await send(.get, "\(target)?wait=\(seconds)", headers: ["if-none-match": tag])
    }
}

extension Answer {
    var tag: String? { response.headers["etag"] }
}

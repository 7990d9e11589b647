import HTTP
import Payments
import Testing

@testable import Merchant

/// Who gets a place among the requests under way.
@Suite struct CrowdTests {
    @Test func `as many requests are under way as may be, and those behind are told when to come again`() throws {
        let crowd = Crowd(limits { $0.requestsMax = 2 })
        try crowd.enter()
        try crowd.enter()
        for _ in 0..<3 {
            let error = try #require(throws: APIError.self) { try crowd.enter() }
            #expect(error.status == .serviceUnavailable && error.code == "busy" && error.retryAfterSeconds == 1)
        }
        crowd.leave()
        try crowd.enter()
        #expect(throws: APIError.self) { try crowd.enter() }
    }

    @Test func `a user has as many places as his share, and nobody else is kept waiting`() throws {
        let crowd = Crowd(limits { $0.requestsPerUserMax = 2 })
        let (ana, bia) = (try subject("ana"), try subject("bia"))
        let place = try #require(try crowd.takePlace(for: ana))
        _ = try crowd.takePlace(for: ana)
        for _ in 0..<3 {
            let error = try #require(throws: APIError.self) { try crowd.takePlace(for: ana) }
            #expect(error.status == .tooManyRequests && error.code == "rate_limited" && error.retryAfterSeconds == 1)
        }
        _ = try crowd.takePlace(for: bia)
        crowd.giveBack(place)
        _ = try crowd.takePlace(for: ana)
        #expect(throws: APIError.self) { try crowd.takePlace(for: ana) }
    }

    @Test func `without a limit a user has as many places as there are`() throws {
        let crowd = Crowd(limits { $0.requestsPerUserMax = 0 })
        let ana = try subject("ana")
        for _ in 0..<100 { #expect(try crowd.takePlace(for: ana) == nil) }
    }

    @Test func `long polls are let in until as many wait as may`() throws {
        let crowd = Crowd(limits { $0.longPollsMax = 2 })
        try crowd.admitLongPoll(besides: 1, retryAfterSeconds: 7)
        let error = try #require(throws: APIError.self) { try crowd.admitLongPoll(besides: 2, retryAfterSeconds: 7) }
        #expect(error.status == .serviceUnavailable && error.code == "busy" && error.retryAfterSeconds == 7)
    }
}

private func limits(_ change: (inout CrowdLimits) -> Void) -> CrowdLimits {
    var limits = CrowdLimits()
    change(&limits)
    return limits
}

private func subject(_ text: String) throws -> UserSubject { try UserSubject(text) }

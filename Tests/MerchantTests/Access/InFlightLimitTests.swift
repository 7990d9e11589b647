import HTTP
import Payments
import Testing

@testable import MerchantAPI

/// A request gets a permit while the limits of requests in flight allow it.
@Suite struct InFlightLimitTests {
    @Test func `as many requests are under way as may be, and those behind are told when to come again`() throws {
        let inFlight = InFlightLimit(limits { $0.requestsMax = 2 })
        try inFlight.enter()
        try inFlight.enter()
        for _ in 0..<3 {
            let error = try refusal { try inFlight.enter() }
            #expect(error.status == .serviceUnavailable && error.code == "busy" && error.retryAfterSeconds == 1)
        }
        inFlight.leave()
        try inFlight.enter()
        #expect(throws: AccessRefusal.self) { try inFlight.enter() }
    }

    @Test func `a user has as many requests under way as his share, and nobody else is kept waiting`() throws {
        let limit = InFlightLimit(limits { $0.requestsPerUserMax = 2 })
        let (ana, bia) = (try subject("ana"), try subject("bia"))
        var permits = [try limit.permit(for: ana), try limit.permit(for: ana)]
        for _ in 0..<3 {
            let error = try refusal { _ = try limit.permit(for: ana) }
            #expect(error.status == .tooManyRequests && error.code == "rate_limited" && error.retryAfterSeconds == 1)
        }
        let hers = try limit.permit(for: bia)
        // It is given back by letting go of it.
        permits.removeLast()
        permits.append(try limit.permit(for: ana))
        #expect(throws: AccessRefusal.self) { try limit.permit(for: ana) }
        withExtendedLifetime((permits, hers)) {}
    }

    @Test func `without a limit a user has as many requests under way as there are`() throws {
        let limit = InFlightLimit(limits { $0.requestsPerUserMax = 0 })
        let ana = try subject("ana")
        for _ in 0..<100 { #expect(try limit.permit(for: ana) == nil) }
    }

    @Test func `long polls are let in until as many wait as may`() throws {
        let inFlight = InFlightLimit(limits { $0.longPollsMax = 2 })
        try inFlight.admitLongPoll(besides: 1, retryAfter: .seconds(7))
        let error = try refusal { try inFlight.admitLongPoll(besides: 2, retryAfter: .seconds(7)) }
        #expect(error.status == .serviceUnavailable && error.code == "busy" && error.retryAfterSeconds == 7)
    }
}

/// The API's answer to the refusal.
private func refusal(_ body: () throws -> Void) throws -> APIError {
    APIError(describing: try #require(throws: AccessRefusal.self, performing: body))
}

private func limits(_ change: (inout InFlightLimits) -> Void) -> InFlightLimits {
    var limits = InFlightLimits()
    change(&limits)
    return limits
}

private func subject(_ text: String) throws -> UserSubject { try UserSubject(text) }

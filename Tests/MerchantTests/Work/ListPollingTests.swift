import Testing
import Transport

@testable import MerchantWorkflows

/// When a list of Belvo's that takes long is worth its time.
@Suite struct ListPollingTests {
    @Test(arguments: [
        (rate: 0, count: 12, seconds: 4, isSlow: true), (0, 200, 4, false), (0, 10_000, 4, false),
        (5, 12, 4, true), (5, 21, 4, false), (500, 1_000, 4, true), (500, 10_000, 4, false),
    ])
    func `a list is slow where reading one by one would have taken less time`(
        rate: Int, count: Int, seconds: Int, isSlow: Bool
    ) {
        #expect(ListPolling(rate: rate).isSlow(.seconds(seconds), count: count) == isSlow)
    }
}

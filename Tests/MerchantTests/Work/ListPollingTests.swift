import Testing
import Transport

@testable import MerchantWorkflows

/// When a list of Belvo's that takes long is worth its time.
@Suite struct ListPollingTests {
    @Test(arguments: [
        (rate: 0, told: 12, seconds: 4, fault: ListFault?.some(.slow)), (0, 200, 4, nil), (0, 6_000, 20, nil),
        (0, 900, 20, .slow), (5, 12, 4, .slow), (5, 21, 4, nil), (500, 1_000, 4, .slow), (500, 10_000, 4, nil),
    ])
    func `a list that its time cut off is slow where reading what it told one by one had taken less time`(
        rate: Int, told: Int, seconds: Int, fault: ListFault?
    ) {
        let time = Duration.seconds(seconds)
        #expect(ListPolling(rate: rate).fault(due: 10_000, told: told, elapsed: time, timeMax: time) == fault)
    }

    @Test(arguments: [(told: 49, fault: ListFault?.some(.incomplete)), (50, nil), (100, nil)])
    func `a list that ended by itself is incomplete where it told of less than half`(told: Int, fault: ListFault?) {
        let found = ListPolling().fault(due: 100, told: told, elapsed: .seconds(1), timeMax: .seconds(4))
        #expect(found == fault)
    }

    @Test(arguments: [(count: 8, seconds: 4), (150, 4), (1_000, 10), (10_000, 20), (1_000_000, 20)])
    func `a list may take longer where very many wait, and holds no decision back for over 20 s`(
        count: Int, seconds: Int
    ) {
        #expect(ListPolling().timeMax(count: count, interval: .seconds(2)) == .seconds(seconds))
    }
}

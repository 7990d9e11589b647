import Testing

@testable import Payments

/// How long things may take, and how often Belvo is asked.
@Suite struct TimeoutsTests {
    @Test(
        arguments: [
            (.zero, .seconds(10)), (.seconds(60), .seconds(10)), (.seconds(600), .seconds(60)),
            (.seconds(1_200), .seconds(120)), (.seconds(3_599), .seconds(120)), (.seconds(3_600), .seconds(900)),
            (.seconds(7 * 86_400 - 1), .seconds(900)), (.seconds(7 * 86_400), .seconds(3_600)),
        ] as [(Duration, Duration)])
    func `what is in doubt is read ever less often, and never given up`(age: Duration, pause: Duration) {
        #expect(Timeouts().overduePollInterval(overdue: age) == pause)
    }

    @Test(
        arguments: [(0, 2_000), (4, 2_000), (6, 3_000), (20, 10_000), (30, 15_000), (60, 15_000)] as [(Int64, Int64)])
    func `a creation of unknown outcome is looked for after half of its age, 15 s at most`(
        age: Int64, pause: Int64
    ) {
        #expect(Timeouts().creationPollInterval(age: .seconds(age)) == .milliseconds(pause))
    }
}

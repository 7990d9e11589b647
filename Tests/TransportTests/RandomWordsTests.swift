import Testing

@testable import Transport

struct RandomWordsTests {
    @Test func `no word is given twice, whoever asks, and each bit is set as often as not`() async {
        let random = RandomWords()
        let pairs = await withTaskGroup(of: [(UInt64, UInt64)].self) { group in
            for _ in 0..<4 {
                group.addTask { (0..<1_000).map { _ in random.pair() } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        let words = pairs.flatMap { [$0.0, $0.1] }
        #expect(Set(words).count == 8_000)
        // 4,000 expected of each bit; ten standard deviations are 447.
        for bit in 0..<64 {
            let count = words.count { $0 >> UInt64(bit) & 1 == 1 }
            #expect((3_553...4_447).contains(count), "bit \(bit)")
        }
    }
}
